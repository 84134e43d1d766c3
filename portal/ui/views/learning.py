"""What another threshold of an item would have said, a proposal for it, and its acceptance by a second person."""

from math import isfinite

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.items import Criterion
from checks.models import ThresholdProposal
from checks.selectors.pages_access import ACTING_ROLES, DECIDING_ROLES, ClusterAccess
from checks.selectors.pages_status import foot_of
from checks.services.thresholds import accept_threshold, propose_threshold
from portal.ui.act_forms import ConfirmForm, reason_field
from portal.ui.acting import Act, act_page, posted
from portal.ui.criteria import Rules
from portal.ui.csv_files import csv_file
from portal.ui.guard import person_page
from portal.ui.loaders import load_cluster
from portal.ui.pages.learning import BackTestPage, back_test_page, criterion_named, direction, proposal_line
from portal.ui.requests import PersonRequest
from portal.ui.rules import rules_of
from portal.ui.step_up import fresh_proof, step_up

_HEAD = ("low", "high", "good", "before_incident")


class ThresholdForm(forms.Form):
    """Another number, and why."""

    threshold = forms.FloatField(label=gettext_lazy("Threshold"))
    reason = reason_field()
    fact = forms.CharField(max_length=64, widget=forms.HiddenInput)


@person_page()
def back_test(request: PersonRequest, slug: str, item: str) -> HttpResponse:
    """Values of good days against those from before an incident; to the form alone the part that moves."""
    access, rules, criterion = _movable(request, slug, item)
    now = timezone.now()
    page = back_test_page(access.cluster, rules, criterion, _number(request.GET.get("threshold", "")), now=now)
    context = {
        "page": page, "cluster": access.cluster, "item": rules.item, "direction": direction(page),
        "may_propose": bool(access.roles & ACTING_ROLES), "now": now,
    }  # fmt: skip
    template = "ui/backtest/_result.html" if request.htmx else "ui/backtest/page.html"
    response = render(request, template, context | foot_of(now=now))
    if request.htmx:
        response["X-Live"] = "part"
    patch_vary_headers(response, ["HX-Request"])
    return response


@person_page()
def back_test_csv(request: PersonRequest, slug: str, item: str) -> StreamingHttpResponse:
    """The columns of the histogram."""
    access, rules, criterion = _movable(request, slug, item)
    page: BackTestPage = back_test_page(access.cluster, rules, criterion, None, now=timezone.now())
    rows = (
        (f"{one.column.low:.10g}", f"{one.column.high:.10g}", str(one.column.good), str(one.column.before))
        for one in page.bars
    )
    return csv_file(f"{item}-back-test.csv", _HEAD, rows)


@person_page("GET", "HEAD", "POST")
@step_up
def propose(request: PersonRequest, slug: str, item: str) -> HttpResponse:
    """Write down another threshold; it judges nothing until a second person accepts it."""
    access, rules, criterion = _movable(request, slug, item)
    if not access.roles & ACTING_ROLES:
        raise PermissionDenied
    tried = _number(request.GET.get("threshold", ""))
    page = back_test_page(access.cluster, rules, criterion, tried, now=timezone.now())
    begun = {"threshold": page.tried if page.is_moved else None, "fact": criterion.fact}
    form = ThresholdForm(posted(request), initial=begun)
    act = Act(
        title=_("Propose a threshold for %(item)s") % {"item": item},
        consequence=_(
            "It judges nothing yet: it stands in shadow until half of the nodes were measured again and another person "
            "accepts it. Whoever proposes or accepts a threshold cannot sign its layer."
        ),
        submit=_("Propose it"),
        done=_("Proposed. It stands in shadow until another person accepts it."),
        back=reverse("ui:item", args=[slug, item]),
        cluster=access.cluster,
        facts=(
            (_("In force"), page.shown_in_force),
            (_("False alarms"), str(page.counts.false_alarms)),
            (_("Misses"), str(page.counts.misses)),
        ),
    )
    return act_page(
        request, act, form,
        lambda: propose_threshold(
            cluster=access.cluster, item=item, by=request.user, proof=fresh_proof(request), now=timezone.now(),
            **form.cleaned_data,
        ),
    )  # fmt: skip


@person_page("GET", "HEAD", "POST")
@step_up
def accept(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Put a proposal in force: what it does to nodes now stands there in figures."""
    access = load_cluster(request, slug)
    if not access.roles & DECIDING_ROLES:
        raise PermissionDenied
    found = ThresholdProposal.objects.select_related("proposed_by", "cluster").filter(cluster=access.cluster, pk=number)
    proposal = found.filter(approval=None).first()
    rules = rules_of(access.cluster).get(proposal.item) if proposal else None
    if proposal is None or rules is None:
        raise Http404
    line, told = proposal_line(proposal, rules, now=timezone.now()), proposal.back_test
    shadow = {"measured": line.shadow.measured, "rows": line.shadow.rows}
    act = Act(
        title=_("Accept a threshold for %(item)s") % {"item": proposal.item},
        consequence=_("From the moment you accept it, every node is judged by it; what changes is told beside."),
        submit=_("Put it in force"),
        done=_("It is in force, and the nodes are judged by it."),
        back=reverse("ui:item", args=[slug, proposal.item]),
        cluster=access.cluster,
        facts=(
            (_("Threshold"), line.says),
            (_("Begin to fail"), str(line.effect.would_fail)),
            (_("Fail no longer"), str(line.effect.would_pass)),
            (_("False alarms in the back-test"), str(told["false_alarms"])),
            (_("Misses in the back-test"), str(told["misses"])),
            (_("Measured in shadow"), _("%(measured)d of %(rows)d") % shadow),
            (_("Proposed by"), str(proposal.proposed_by)),
            (_("Reason"), proposal.reason),
        ),
    )
    mine = proposal.proposed_by_id == request.user.pk
    more = {"refused": _("You proposed it yourself: another person has to accept it.")} if mine else {}
    return act_page(
        request, act, ConfirmForm(posted(request)),
        lambda: accept_threshold(
            proposal=proposal, by=request.user, proof=fresh_proof(request), now=timezone.now()
        ),
        **more,
    )  # fmt: skip


def _movable(request: PersonRequest, slug: str, item: str) -> tuple[ClusterAccess, Rules, Criterion]:
    access = load_cluster(request, slug)
    rules = rules_of(access.cluster).get(item)
    fact = request.POST.get("fact") or request.GET.get("fact", "")
    criterion = criterion_named(rules, fact) if rules else None
    if rules is None or criterion is None:
        raise Http404
    return access, rules, criterion


def _number(text: str) -> float | None:
    try:
        found = float(text[:40])
    except ValueError:
        return None
    return found if isfinite(found) else None
