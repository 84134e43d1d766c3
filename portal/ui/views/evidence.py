"""What another tool printed about a node, brought by a person: read first, kept when they have seen what was read."""

import base64
import zlib
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.errors import CountersignError
from checks.models import Node
from checks.selectors.pages_status import foot_of
from checks.selectors.tool_evidence import kept_of, output_of
from checks.services.tool_evidence import Sender, ToolOutput, preview_tool_evidence, record_tool_evidence
from portal.ui.act_forms import in_zone
from portal.ui.guard import person_page
from portal.ui.loaders import load_node, load_node_to_recheck
from portal.ui.pages.evidence import REFUSALS, TOOLS, evidence_page
from portal.ui.requests import PersonRequest
from portal.ui.rules import rules_of
from portal.ui.run_form import MomentField

_SHOWN: Final = 10
_MOST: Final = 8 * 1024 * 1024
_MOST_PACKED: Final = 2 * 1024 * 1024


class EvidenceForm(forms.Form):
    """A file of one tool, and when the tool ran; the second time, what was read stands in *packed*."""

    tool = forms.ChoiceField(label=gettext_lazy("Tool"), choices=list(TOOLS.items()))
    file = forms.FileField(
        label=gettext_lazy("What it printed"),
        required=False,
        allow_empty_file=True,
        help_text=gettext_lazy("The whole output, unchanged."),
    )
    measured_at = MomentField(
        label=gettext_lazy("When it ran"),
        required=False,
        help_text=gettext_lazy("Leave it empty where the output says it: fio's JSON, gpud, Health Validation."),
    )
    packed = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, node: Node, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        in_zone(self, node.cluster, "measured_at")

    def output(self) -> ToolOutput:
        """What was sent, now or before.

        Raises:
            CountersignError: no file, or one that is too large for a page.
        """
        given = self.cleaned_data
        content = _unpacked(given["packed"]) if given["packed"] else b""
        content = given["file"].read(_MOST + 1) if given["file"] else content
        if not content:
            raise CountersignError(_("Choose the file that the tool wrote."))
        if len(content) > _MOST or len(_packed(content)) > _MOST_PACKED:
            raise CountersignError(str(REFUSALS["too_large"]), status=413)
        return ToolOutput(given["tool"], content, given["measured_at"])


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


def _unpacked(packed: str) -> bytes:
    """Empty for what this page never wrote."""
    try:
        return zlib.decompressobj().decompress(base64.b64decode(packed, validate=True), _MOST + 1)
    except (ValueError, zlib.error):
        return b""


@person_page("GET", "HEAD", "POST")
def add_evidence(request: PersonRequest, slug: str, hostname: str) -> HttpResponse:
    """The form and what was kept before; a POST shows what was read, and keeps it once that was seen."""
    node, now = load_node_to_recheck(request, slug, hostname), timezone.now()
    form = EvidenceForm(request.POST or None, request.FILES or None, node=node)
    context: dict[str, Any] = {"node": node, "cluster": node.cluster, "form": form, "now": now}
    status = 200
    if request.method == "POST":
        try:
            status = 422 if not form.is_valid() else 200
            if status == 200 and "keep" in request.POST:
                return _keep(request, node, form)
            context |= _read(request, node, form) if status == 200 else {}
        except CountersignError as error:
            status = error.status
            form.add_error(None, _refusal(error))
    context |= {"kept": kept_of(node, limit=_SHOWN), "tools": TOOLS} | foot_of(now=now)
    response = render(request, "ui/evidence/page.html", context, status=status)
    response["Cache-Control"] = "private, no-store"
    return response


def _read(request: PersonRequest, node: Node, form: EvidenceForm) -> dict[str, Any]:
    output = form.output()
    receipt = preview_tool_evidence(node=node, output=output, sender=Sender(request.user), now=timezone.now())
    page = evidence_page(receipt, node.cluster, rules_of(node.cluster, node))
    return {"read": page, "packed": _packed(output.content), "measured_at": form["measured_at"].value() or ""}


def _keep(request: PersonRequest, node: Node, form: EvidenceForm) -> HttpResponse:
    receipt = record_tool_evidence(node=node, output=form.output(), sender=Sender(request.user), now=timezone.now())
    if receipt.duplicate:
        messages.info(request, _("This very output is kept already; nothing changed."))
    else:
        messages.info(request, _("Kept, and judged like a report of the node's own."))
    return redirect("ui:node", slug=node.cluster.slug, hostname=node.hostname)


def _refusal(error: CountersignError) -> str:
    """In the reader's language first, then what exactly was found."""
    said = REFUSALS.get(error.code)
    return f"{said} {error.message}" if said else error.message


@person_page()
def tool_output(request: PersonRequest, slug: str, hostname: str, evidence_id: UUID) -> HttpResponse:
    """One output as it was sent: shown by no page, handed over as a file."""
    _access, node = load_node(request, slug, hostname)
    found = output_of(node, evidence_id)
    if found is None:
        raise Http404
    evidence, content = found
    name = f"{evidence.tool}-{evidence.digest[:12]}.txt"
    return HttpResponse(
        content,
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"},
    )
