"""Failures accepted for a while: asked for by one person, agreed to by another, taken back by either."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from checks.domain.verdicts import Layer, Verdict
from checks.models import Run, Waiver
from checks.selectors.nodesets import fold_node_set
from checks.selectors.packages import RunState, run_state
from checks.selectors.pages_run import hosts_of
from checks.selectors.pages_sign import evidence_of
from checks.selectors.policies import policy_in_force
from checks.selectors.waivers import open_waivers
from checks.services.waivers import approve_waiver, ask_waiver, end_waiver
from portal.ui import times
from portal.ui.act_forms import ConfirmForm, ReasonForm, WaiverForm
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.loaders import load_run, load_run_to_change
from portal.ui.pages.run import signing_roles
from portal.ui.requests import PersonRequest
from portal.ui.rules import rules_of
from portal.ui.step_up import fresh_proof, step_up
from portal.ui.words import ROLES


@person_page("GET", "HEAD", "POST")
@step_up
def waive(request: PersonRequest, slug: str) -> HttpResponse:
    """Ask that a failure be accepted until a date; nothing is before a second person agrees."""
    run, now = load_run_to_change(request, slug).run, timezone.now()
    state = run_state(run, now=now)
    failing = failing_items(state)
    initial = {"item": request.GET.get("item", ""), "nodes": request.GET.get("nodes", ""), "until": run.planned_end}
    form = WaiverForm(posted(request), cluster=run.cluster, items=failing, initial=initial)
    act = Act(
        title=_("Ask for a waiver"),
        consequence=_(
            "Once another person of the layer agrees, the failure blocks nothing until the end you set; it stands in "
            "what is signed, and blocks again in the second it ends."
        ),
        submit=_("Ask for it"),
        done=_("Asked. Another person who signs the layer has to agree."),
        back=reverse("ui:run", args=[slug]),
        cluster=run.cluster,
        run=run,
    )
    more = {} if failing else {"refused": _("Nothing of this run fails now, so there is nothing to accept.")}
    return act_page(
        request,
        act,
        form,
        lambda: ask_waiver(
            run=run,
            by=request.user,
            role=_role_for(request, run, _layer_of(state, form.cleaned_data["item"])),
            proof=fresh_proof(request),
            now=timezone.now(),
            **form.cleaned_data,
        ),
        **more,
    )


@person_page("GET", "HEAD", "POST")
@step_up
def agree(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Agree to a waiver that somebody else asked for."""
    run, waiver = _open_waiver(request, slug, number)
    act = Act(
        title=_("Agree to a waiver"),
        consequence=_(
            "From now on the failure blocks nothing there, until its end; you and who asked for it answer for it."
        ),
        submit=_("Agree"),
        done=_("In force. Signatures from before it no longer count, because it is part of what is signed."),
        back=reverse("ui:run", args=[slug]),
        cluster=run.cluster,
        run=run,
        facts=_facts(run, waiver),
    )
    more = {}
    if waiver.asked_by_id == request.user.pk:
        more["refused"] = _("You asked for it yourself: another person has to agree.")
    return act_page(
        request,
        act,
        ConfirmForm(posted(request)),
        lambda: approve_waiver(
            waiver=waiver,
            by=request.user,
            role=_role_for(request, run, Layer(waiver.layer), other_than=waiver.asked_role),
            proof=fresh_proof(request),
            now=timezone.now(),
        ),
        **more,
    )


@person_page("GET", "HEAD", "POST")
@step_up
def end_waived(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Take a waiver back before its time."""
    run, waiver = _open_waiver(request, slug, number)
    form = ReasonForm(posted(request))
    act = Act(
        title=_("End a waiver"),
        consequence=_("The failure blocks again from this second on."),
        submit=_("End it"),
        done=_("Ended. The failure blocks again."),
        back=reverse("ui:run", args=[slug]),
        cluster=run.cluster,
        run=run,
        facts=_facts(run, waiver),
        danger=True,
    )
    return act_page(
        request,
        act,
        form,
        lambda: end_waiver(
            waiver=waiver,
            by=request.user,
            reason=form.cleaned_data["reason"],
            proof=fresh_proof(request),
            now=timezone.now(),
        ),
    )


def failing_items(state: RunState) -> list[tuple[str, str]]:
    """Blockers that fail now, by key and title: only a failure can be accepted."""
    rules, language = rules_of(state.run.cluster), get_language() or "en"
    failing = sorted(
        one.item for layer in Layer for one in evidence_of(state, layer) if one.counts.get(Verdict.FAIL)
    )  # fmt: skip
    return [(key, f"{key} · {rules[key].item.texts(language).title}" if key in rules else key) for key in failing]


def _layer_of(state: RunState, item: str) -> Layer:
    return rules_of(state.run.cluster)[item].item.layer


def _role_for(request: PersonRequest, run: Run, layer: Layer, *, other_than: str = "") -> str:
    """The role of the layer in which the reader acts: another one than *other_than* where they hold several."""
    roles = policy_in_force(run.cluster).policy.layers[layer].roles
    held = sorted(signing_roles(request.user, run) & set(roles), key=lambda role: role == other_than)
    return held[0] if held else ""


def _open_waiver(request: PersonRequest, slug: str, number: int) -> tuple[Run, Waiver]:
    access = load_run(request, slug)
    if not access.may_edit:
        raise PermissionDenied
    found = open_waivers(access.run, now=timezone.now()).select_related("asked_by", "run__cluster").filter(pk=number)
    waiver = found.first()
    if waiver is None:
        raise Http404
    return access.run, waiver


def _facts(run: Run, waiver: Waiver) -> tuple[tuple[str, str], ...]:
    now = timezone.now()
    hosts = hosts_of(run_state(run, now=now), waiver.nodes)
    return (
        (_("Item"), waiver.item),
        (_("Nodes"), fold_node_set(hosts) or "—"),
        (_("Until"), f"{times.absolute_time(waiver.until, now=now)} UTC"),
        (_("Asked for by"), f"{waiver.asked_by}, {ROLES[waiver.asked_role]}"),
        (_("Reason"), waiver.reason),
    )
