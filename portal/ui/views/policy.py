"""Who signs what: the policy in force, a proposal for another, and its approval by a second person."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.domain.policy import Policy
from checks.models import Cluster, PolicyVersion
from checks.selectors.pages_access import ClusterAccess
from checks.selectors.pages_status import foot_of
from checks.selectors.policies import PolicyInForce, policy_in_force
from checks.selectors.runs import LEADING_ROLES
from checks.services.policies import approve_policy, propose_policy
from portal.ui.act_forms import ConfirmForm, PolicyForm
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.loaders import load_cluster
from portal.ui.policy_words import changes_said, layers_said
from portal.ui.requests import PersonRequest
from portal.ui.step_up import fresh_proof, step_up


@person_page()
def policy(request: PersonRequest, slug: str) -> HttpResponse:
    """Who signs which layer, for how long; what is proposed, and who can approve it."""
    access, now = load_cluster(request, slug), timezone.now()
    standing = policy_in_force(access.cluster)
    page = {
        "cluster": access.cluster,
        "standing": standing,
        "layers": layers_said(standing.policy),
        "proposals": _proposals(access.cluster, standing),
        "versions": PolicyVersion.objects.filter(cluster=access.cluster).select_related("proposed_by", "approval__by"),
        "leads": bool(access.roles & LEADING_ROLES),
        "now": now,
    }
    return render(request, "ui/policy/page.html", page | foot_of(now=now))


@person_page("GET", "HEAD", "POST")
@step_up
def propose(request: PersonRequest, slug: str) -> HttpResponse:
    """Write down another policy; nothing changes until a second person approves it."""
    cluster = _led(request, slug).cluster
    form = PolicyForm(posted(request), policy=policy_in_force(cluster).policy)
    act = Act(
        title=_("Propose a sign-off policy"),
        consequence=_(
            "Nothing changes until another lead or administrator approves it; you cannot approve it yourself."
        ),
        submit=_("Propose it"),
        done=_("Proposed. Another lead or administrator has to approve it."),
        back=reverse("ui:policy", args=[slug]),
        cluster=cluster,
    )
    return act_page(
        request,
        act,
        form,
        lambda: propose_policy(
            cluster=cluster,
            document=form.document(),
            by=request.user,
            reason=form.cleaned_data["reason"],
            proof=fresh_proof(request),
            now=timezone.now(),
        ),
    )


@person_page("GET", "HEAD", "POST")
@step_up
def approve(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Put a proposal in force: what it changes stands there in words."""
    cluster = _led(request, slug).cluster
    proposal = PolicyVersion.objects.filter(cluster=cluster, number=number, approval=None).first()
    if proposal is None:
        raise Http404
    changes = changes_said(policy_in_force(cluster).policy, Policy.read(proposal.document))
    said = {"number": number, "who": proposal.proposed_by}
    act = Act(
        title=_("Approve policy %(number)d") % said,
        consequence=_("From the moment you approve it, what was signed under another policy no longer counts."),
        submit=_("Put it in force"),
        done=_("Policy %(number)d is in force.") % said,
        back=reverse("ui:policy", args=[slug]),
        cluster=cluster,
        facts=((_("Proposed by"), str(proposal.proposed_by)), (_("Reason"), proposal.reason)),
    )
    form = ConfirmForm(posted(request))
    more: dict[str, Any] = {"changes": changes, "include": "ui/policy/_changes.html"}
    if proposal.proposed_by_id == request.user.pk:
        more["refused"] = _("You proposed it yourself: another lead or administrator has to approve it.")
    return act_page(
        request,
        act,
        form,
        lambda: approve_policy(policy=proposal, by=request.user, proof=fresh_proof(request), now=timezone.now()),
        **more,
    )


def _led(request: PersonRequest, slug: str) -> ClusterAccess:
    access = load_cluster(request, slug)
    if not access.roles & LEADING_ROLES:
        raise PermissionDenied
    return access


def _proposals(cluster: Cluster, standing: PolicyInForce) -> list[dict[str, Any]]:
    """What is proposed and could still come into force."""
    waiting = PolicyVersion.objects.filter(cluster=cluster, number__gt=standing.number, approval=None)
    return [
        {"version": one, "changes": changes_said(standing.policy, Policy.read(one.document))}
        for one in waiting.select_related("proposed_by")
    ]
