"""Signing one layer of one run, and taking a signature back."""

import json
from datetime import datetime
from math import isfinite
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.errors import CountersignError
from checks.domain.verdicts import Layer
from checks.domain.writing import is_line, is_storable
from checks.models import Delegation, Meaning, Run, Signature
from checks.selectors.pages_status import foot_of
from checks.services.signing import Moved, revoke_signature, sign_layer
from portal.accounts.models import User
from portal.ui.act_forms import ReasonForm
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.loaders import load_run
from portal.ui.pages.sign import SignPage, sign_page
from portal.ui.requests import PersonRequest
from portal.ui.sign_words import changes_said
from portal.ui.step_up import fresh_proof, proof_of, step_up
from portal.ui.words import LAYERS, ROLES

LONGEST_NOTE = 2000
# A day spent on one piece of evidence is a browser that was left open.
MOST_SECONDS = 86_400


class SignForm(forms.Form):
    """What a signature says; the digest is the one that the page showed.

    Whether the role is asked for and the delegation holds is the act's to say: both may have ended since the page was
    shown, and it says so in a sentence.
    """

    meaning = forms.ChoiceField(
        choices=[(each.value, each.label) for each in Meaning],
        error_messages={"required": gettext_lazy("Choose what your signature means.")},
    )
    comment = forms.CharField(max_length=LONGEST_NOTE, required=False)
    digest = forms.RegexField(r"[0-9a-f]{64}")
    role = forms.CharField(max_length=16)
    delegation = forms.ModelChoiceField(queryset=Delegation.objects.none(), required=False)
    seconds = forms.CharField(max_length=20_000, required=False)
    shown_at = forms.CharField(max_length=40, required=False)

    def __init__(self, *args: Any, reader: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["delegation"].queryset = Delegation.objects.filter(receiver=reader)  # type: ignore[attr-defined]

    def clean_seconds(self) -> dict[str, int]:
        """Seconds by item; what a browser made up is left out."""
        try:
            told = json.loads(self.cleaned_data["seconds"] or "{}")
        except (ValueError, RecursionError):
            return {}
        if not isinstance(told, dict):
            return {}
        return {
            item[:64]: int(min(spent, MOST_SECONDS))
            for item, spent in list(told.items())[:200]
            if is_line(item) and isinstance(spent, int | float) and isfinite(spent) and spent >= 1
        }


@person_page("GET", "HEAD", "POST")
@step_up
def sign(request: PersonRequest, slug: str, layer: str) -> HttpResponse:
    """What changed, the evidence, who is left out, and the line to sign on."""
    if layer not in Layer.__members__.values():
        raise Http404
    run, now = load_run(request, slug).run, timezone.now()
    page = sign_page(user=request.user, run=run, layer=Layer(layer), now=now)
    form = SignForm(posted(request), reader=request.user)
    if request.method != "POST":
        return _shown(request, page, form)
    if not form.is_valid():
        return _shown(request, page, form, status=422)
    try:
        signature = _sign(request, run, Layer(layer), form)
    except Moved as error:
        said = changes_said(error.changes) if error.changes else ()
        return _shown(request, page, form, status=error.status, error=error, moved=said)
    except CountersignError as error:
        return _shown(request, page, form, status=error.status, error=error)
    messages.info(request, _signed_said(signature, layer))
    return redirect("ui:run", slug=slug)


def _sign(request: PersonRequest, run: Run, layer: Layer, form: SignForm) -> Signature:
    given = form.cleaned_data
    return sign_layer(
        run=run,
        layer=layer,
        by=request.user,
        role=given["role"],
        meaning=given["meaning"],
        comment=given["comment"],
        shown_digest=given["digest"],
        delegation=given["delegation"],
        proof=fresh_proof(request),
        seconds=given["seconds"],
        shown_at=_moment(given["shown_at"]),
        now=timezone.now(),
    )


def _shown(request: PersonRequest, page: SignPage, form: SignForm, *, status: int = 200, **more: Any) -> HttpResponse:
    now = timezone.now()
    context = {"page": page, "form": form, "now": now, "meanings": Meaning, "proof": proof_of(request, now=now)}
    spent = form.cleaned_data.get("seconds", {}) if form.is_bound and hasattr(form, "cleaned_data") else {}
    response = render(
        request, "ui/sign/page.html", context | {"spent": json.dumps(spent)} | more | foot_of(now=now), status=status
    )
    response["Cache-Control"] = "private, no-store"
    return response


@person_page("GET", "HEAD", "POST")
@step_up
def revoke(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Take a signature back; the layer is no longer signed from then on."""
    run = load_run(request, slug).run
    found = Signature.objects.select_related("package__run__cluster", "signer").filter(package__run=run, pk=number)
    signature = found.filter(revocation=None).first()
    if signature is None:
        raise Http404
    form = ReasonForm(posted(request))
    said = {"who": signature.printed_name, "layer": LAYERS[signature.package.layer]}
    act = Act(
        title=_("Revoke a signature"),
        consequence=_("The layer is no longer signed from this second on, and all its roles sign again."),
        submit=_("Revoke it"),
        done=_("Revoked. The layer has to be signed again in all its roles."),
        back=reverse("ui:run", args=[slug]),
        cluster=run.cluster,
        run=run,
        facts=((_("Signature"), _("%(who)s, %(layer)s") % said), (_("Digest"), signature.manifest_id[:16] + "…")),
        danger=True,
    )
    return act_page(
        request,
        act,
        form,
        lambda: revoke_signature(
            signature=signature,
            by=request.user,
            reason=form.cleaned_data["reason"],
            proof=fresh_proof(request),
            now=timezone.now(),
        ),
    )


def _signed_said(signature: Signature, layer: str) -> str:
    said = {"layer": LAYERS[layer], "role": ROLES[signature.role], "digest": signature.manifest_id[:12]}
    return _("%(layer)s is signed by you as %(role)s, on the digest %(digest)s….") % said


def _moment(text: str) -> datetime | None:
    """When the page was shown, as it says itself; None where it says nothing that can be."""
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    return moment if moment is not None and timezone.is_aware(moment) and is_storable(moment) else None
