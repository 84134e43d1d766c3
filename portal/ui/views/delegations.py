"""Who signs for whom: given, listed and taken back."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.domain.policy import SIGNING_ROLES
from checks.models import Delegation
from checks.selectors.delegations import open_delegations
from checks.selectors.roles import roles_of
from checks.selectors.runs import LEADING_ROLES
from checks.services.delegations import delegate, end_delegation
from portal.ui.act_forms import DelegationForm, ReasonForm
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.loaders import load_cluster
from portal.ui.requests import PersonRequest
from portal.ui.step_up import fresh_proof, step_up


@person_page("GET", "HEAD", "POST")
@step_up
def delegations(request: PersonRequest, slug: str) -> HttpResponse:
    """Let somebody else who holds the role sign for the reader; below it, what is given now."""
    access, now = load_cluster(request, slug), timezone.now()
    roles = sorted(roles_of(request.user, access.cluster) & set(SIGNING_ROLES))
    form = DelegationForm(posted(request), cluster=access.cluster, giver=request.user, roles=roles)
    act = Act(
        title=_("Delegate a signature"),
        consequence=_(
            "The other person, who must hold the same role, may sign in it while you are away: under their own name, "
            "marked as for you, never as both signers, and never handed on."
        ),
        submit=_("Delegate"),
        done=_("Delegated. What is signed under it names you both."),
        back=reverse("ui:delegations", args=[slug]),
        cluster=access.cluster,
    )
    given = open_delegations(access.cluster, now=now).select_related("giver", "receiver", "run")
    more: dict[str, Any] = {
        "given": given,
        "leads": bool(access.roles & LEADING_ROLES),
        "include": "ui/act/_delegations.html",
    }
    if not roles:
        more["refused"] = _("You hold no role that signs here, so there is nothing for you to delegate.")

    return act_page(
        request,
        act,
        form,
        lambda: delegate(
            cluster=access.cluster,
            giver=request.user,
            proof=fresh_proof(request),
            now=timezone.now(),
            **form.cleaned_data,
        ),
        **more,
    )


@person_page("GET", "HEAD", "POST")
@step_up
def end_given(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Take a delegation back before its time."""
    access, now = load_cluster(request, slug), timezone.now()
    found = open_delegations(access.cluster, now=now).select_related("giver", "receiver").filter(pk=number).first()
    if found is None:
        raise Http404
    if request.user.pk not in (found.giver_id, found.receiver_id) and not access.roles & LEADING_ROLES:
        raise PermissionDenied
    form = ReasonForm(posted(request))
    return act_page(
        request,
        _ending(found, slug),
        form,
        lambda: end_delegation(
            delegation=found,
            by=request.user,
            reason=form.cleaned_data["reason"],
            proof=fresh_proof(request),
            now=timezone.now(),
        ),
    )


def _ending(found: Delegation, slug: str) -> Act:
    people = {"giver": found.giver, "receiver": found.receiver}
    return Act(
        title=_("End a delegation"),
        consequence=_(
            "%(receiver)s no longer signs for %(giver)s, and what was signed under it stops counting at once."
        )
        % people,
        submit=_("End it"),
        done=_("Ended. What was signed under it no longer counts."),
        back=reverse("ui:delegations", args=[slug]),
        cluster=found.cluster,
        danger=True,
    )
