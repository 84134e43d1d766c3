"""What a person states where no probe can measure: facts, a statement, pictures, and until when it holds."""

from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.http.response import FileResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from checks.domain.freshness import stale_after
from checks.domain.items import Item
from checks.domain.units import Kind
from checks.domain.verdicts import NODE_HELD, Scope, Source
from checks.models import AttestedFile, Cluster, Node, Run
from checks.selectors.pages_access import ACTING_ROLES
from checks.services.attestations import attest
from checks.services.attested_files import MOST_BYTES, MOST_FILES, SentFile
from portal.ui.act_forms import in_zone
from portal.ui.acting import Act, act_page, posted
from portal.ui.criteria import Rules
from portal.ui.guard import person_page
from portal.ui.kept_files import kept_file
from portal.ui.loaders import load_cluster
from portal.ui.requests import PersonRequest
from portal.ui.rules import rules_of
from portal.ui.run_form import MomentField
from portal.ui.step_up import ask_for_proof, proof_of

_OF_A_RUN = frozenset({Scope.RUN, Scope.LINK, Scope.ARTEFACT, Scope.DATASET})
# Proposed where the item itself sets no limit.
_USUAL = timedelta(days=30)


class ManyFilesInput(forms.ClearableFileInput):
    """A field for several files."""

    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """Several files, or none."""

    widget = ManyFilesInput

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        sent = data if isinstance(data, list | tuple) else [data] if data else []
        return [super(ManyFilesField, self).clean(each, initial) for each in sent]


class AttestForm(forms.Form):
    """One field for each fact that the item is judged by, then what was seen."""

    statement = forms.CharField(
        label=gettext_lazy("What you looked at, and what you found"),
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    evidence = ManyFilesField(
        label=gettext_lazy("Evidence"),
        required=False,
        help_text=gettext_lazy("PNG, JPEG, WebP or PDF, at most 10 MB each."),
        widget=ManyFilesInput(attrs={"accept": "image/png,image/jpeg,image/webp,application/pdf"}),
    )
    valid_until = MomentField(label=gettext_lazy("Holds until"))

    def __init__(self, *args: Any, cluster: Cluster, rules: Rules, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        item = self.item = rules.item
        longest = stale_after(item.cadence, timedelta(0), item) or _USUAL
        self.initial = {**self.initial, "valid_until": timezone.now() + longest - timedelta(minutes=1)}
        in_zone(self, cluster, "valid_until")
        if item.scope in NODE_HELD:
            nodes = Node.objects.filter(cluster=cluster, retired_at=None).order_by("hostname")
            self.fields["node"] = forms.ModelChoiceField(nodes, label=_("Node"), to_field_name="hostname")
        if item.scope in _OF_A_RUN:
            runs = Run.objects.filter(cluster=cluster).order_by("slug")
            self.fields["run"] = forms.ModelChoiceField(runs, label=_("Run"), to_field_name="slug")
        for name, unit in item.facts.items():
            self.fields[f"fact_{name}"] = _fact_field(rules.label(name), unit.kind)
        order = ["node", "run", *(f"fact_{name}" for name in item.facts), "statement", "evidence", "valid_until"]
        self.order_fields(order)

    def facts(self) -> dict[str, Any]:
        """What is stated, by the item's names."""
        return {name: self.cleaned_data[f"fact_{name}"] for name in self.item.facts}


def _fact_field(label: str, kind: Kind) -> forms.Field:
    if kind is Kind.BOOL:
        choices = [("True", _("yes")), ("False", _("no"))]
        return forms.TypedChoiceField(
            label=label, choices=choices, coerce=lambda text: text == "True", widget=forms.RadioSelect
        )
    if kind is Kind.NUMBER:
        return forms.FloatField(label=label)
    return forms.CharField(label=label, max_length=300)


@person_page("GET", "HEAD", "POST")
def state_result(request: PersonRequest, slug: str, item: str) -> HttpResponse:
    """State the result of an attested item. The proof is asked for before the form: files would not survive it."""
    access = load_cluster(request, slug)
    rules = rules_of(access.cluster).get(item)
    if rules is None or rules.item.source is not Source.ATTESTED:
        raise Http404
    if not access.roles & ACTING_ROLES:
        raise PermissionDenied
    if request.method != "POST" and proof_of(request, now=timezone.now()) is None:
        ask_for_proof(request)
    form = AttestForm(
        posted(request),
        request.FILES or None,
        cluster=access.cluster,
        rules=rules,
        initial={name: request.GET.get(name, "") for name in ("run", "node")},
    )
    act = _act(access.cluster, rules.item)
    return act_page(request, act, form, lambda: _attest(request, access.cluster, form))


def _attest(request: PersonRequest, cluster: Cluster, form: AttestForm) -> object:
    given = form.cleaned_data
    return attest(
        cluster=cluster,
        run=given.get("run"),
        node=given.get("node"),
        item=form.item.key,
        subject="",
        facts=form.facts(),
        statement=given["statement"],
        files=[SentFile(each.name, each.read(MOST_BYTES + 1)) for each in given["evidence"][: MOST_FILES + 1]],
        valid_until=given["valid_until"],
        by=request.user,
        now=timezone.now(),
    )


def _act(cluster: Cluster, item: Item) -> Act:
    texts = item.texts(get_language() or "en")
    return Act(
        title=texts.title,
        consequence=_(
            "What you state is judged at once like a measurement and stands under your name; whoever states a result "
            "cannot sign it, unless the policy lets a small team do both."
        ),
        submit=_("State it"),
        done=_("Stated, and judged."),
        back=reverse("ui:item", args=[cluster.slug, item.key]),
        cluster=cluster,
        facts=((_("Item"), item.key), (_("Verify"), texts.verify)),
        uploads=True,
        asks_proof=False,
    )


@person_page()
def attested_file(request: PersonRequest, slug: str, digest: str) -> FileResponse:
    """The evidence behind a statement, as it was sent: shown by no page, handed over as a file."""
    access = load_cluster(request, slug)
    return kept_file(AttestedFile.objects.filter(attestation__cluster=access.cluster, digest=digest).first())
