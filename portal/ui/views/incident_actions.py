"""Corrective actions of an incident: proposed, moved, and verified by somebody else than who did them."""

from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.domain.incidents.kinds import ActionState
from checks.models import CorrectiveAction
from checks.services.incident_actions import move_action, propose_action, verify_action
from checks.services.incident_records import Author
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.incident_forms import ActionForm, WordsForm
from portal.ui.loaders import load_incident_to_act
from portal.ui.requests import PersonRequest


@person_page("GET", "HEAD", "POST")
def propose(request: PersonRequest, number: int) -> HttpResponse:
    """Write down what is to be done."""
    held = load_incident_to_act(request, number).incident
    form = ActionForm(posted(request), cluster=held.cluster, initial={"item": request.GET.get("item", "")})
    act = Act(
        title=_("Propose a corrective action"),
        consequence=_("It ends only when it is verified: by a passing probe, or by somebody else than who did it."),
        submit=_("Propose it"),
        done=_("Proposed."),
        back=reverse("ui:incident", args=[number]),
        cluster=held.cluster,
        facts=((_("Incident"), f"{held}, {held.title}"),),
        asks_proof=False,
    )
    return act_page(
        request, act, form,
        lambda: propose_action(incident=held, plan=form.plan(), author=Author(request.user), now=timezone.now()),
    )  # fmt: skip


_SAYS = {
    ActionState.ACCEPTED: lambda: _("It is somebody's work from now on."),
    ActionState.REJECTED: lambda: _("It ends undone, with your reason beside it."),
    ActionState.DONE: lambda: _("It waits for its proof: a probe that passes after this, or somebody who looks."),
    ActionState.VERIFIED: lambda: _("It ends here on your word: you looked whether it works, and did not do it."),
}
_TITLES = {
    ActionState.ACCEPTED: lambda: _("Accept the action"),
    ActionState.REJECTED: lambda: _("Reject the action"),
    ActionState.DONE: lambda: _("The action is done"),
    ActionState.VERIFIED: lambda: _("Verify the action"),
}


@person_page("GET", "HEAD", "POST")
def move(request: PersonRequest, number: int, action: int, to: str) -> HttpResponse:
    """Accept it, reject it, say that it is done, or that it works."""
    held = load_incident_to_act(request, number).incident
    found = CorrectiveAction.objects.select_related("incident__cluster").filter(incident=held, pk=action).first()
    if found is None or to not in {one.value for one in _SAYS}:
        raise Http404
    state = ActionState(to)
    needed = state in (ActionState.REJECTED, ActionState.VERIFIED)
    label = _("What you looked at") if state is ActionState.VERIFIED else _("Reason") if needed else _("Note")
    form = WordsForm(posted(request), label=label, required=needed)
    act = Act(
        title=_TITLES[state](),
        consequence=_SAYS[state](),
        submit=_("Say so"),
        done=_("Written down."),
        back=reverse("ui:incident", args=[number]),
        cluster=held.cluster,
        facts=((_("Action"), found.title), (_("Incident"), f"{held}, {held.title}")),
        asks_proof=False,
    )
    return act_page(request, act, form, lambda: _move(request, found, state, form.cleaned_data["text"]))


def _move(request: PersonRequest, action: CorrectiveAction, to: ActionState, text: str) -> Any:
    author, now = Author(request.user), timezone.now()
    if to is ActionState.VERIFIED:
        return verify_action(action=action, proof=text, author=author, now=now)
    return move_action(action=action, to=to, text=text, author=author, now=now)
