"""Corrective actions: proposed, accepted, done; verified by a passing probe, or by somebody else than who did it."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.incidents.kinds import ActionKind, ActionState, EventKind
from checks.domain.incidents.standing import ACTION_MOVES
from checks.models import CorrectiveAction, Incident, Node
from checks.selectors.incident_proofs import proof_of
from checks.selectors.rules import ruleset_for
from checks.services.incident_records import (
    PORTAL,
    Author,
    CannotMove,
    IncidentRefused,
    add_event,
    lock_incidents,
    refresh,
    require_author,
    require_line,
    write_act,
)
from checks.services.permissions import MayNot, require_reason

_LONGEST_TITLE: Final = 300
_LONGEST_PROOF: Final = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done; *item* is what a passing probe would prove it by, on *node* or on every node."""

    kind: ActionKind
    title: str
    owner: Any = None
    due: date | None = None
    item: str = ""
    node: Node | None = None


@transaction.atomic
def propose_action(*, incident: Incident, plan: Plan, author: Author, now: datetime) -> CorrectiveAction:
    """Write down what is to be done so that it does not come back.

    Raises:
        MayNot, IncidentRefused: it says nothing, or names an item or node that there is not.
    """
    require_author(author, incident.cluster)
    lock_incidents(incident.cluster)
    title = require_line(plan.title, most=_LONGEST_TITLE, what=_("action"))
    if not title:
        raise IncidentRefused(_("Say what is to be done."))
    _require_provable(incident, plan)
    action = CorrectiveAction.objects.create(
        incident=incident, kind=plan.kind.value, title=title, owner=plan.owner, due=plan.due, item=plan.item,
        node=plan.node, created_at=now,
    )  # fmt: skip
    _told(action, "", author, now)
    return action


@transaction.atomic
def move_action(
    *, action: CorrectiveAction, to: ActionState, author: Author, now: datetime, text: str = ""
) -> CorrectiveAction:
    """Accept an action, reject it, say that it is done, or that it is not done after all.

    Raises:
        MayNot, CannotMove: *verified* is reached by a proof alone.
        ReasonMissing: it is rejected without saying why.
    """
    action = _locked(action, author)
    before = ActionState(action.state)
    if to not in ACTION_MOVES[before]:
        raise CannotMove(_("The action is %(state)s; it does not go to %(to)s.") % {"state": before, "to": to})
    told = require_reason(text) if to is ActionState.REJECTED else text.strip()
    is_done = to is ActionState.DONE
    action.state, action.done_at, action.done_by = to.value, now if is_done else None, author.by if is_done else None
    action.save(update_fields=["state", "done_at", "done_by"])
    _told(action, before, author, now, text=told)
    return action


@transaction.atomic
def verify_action(*, action: CorrectiveAction, proof: str, author: Author, now: datetime) -> CorrectiveAction:
    """End an action by a person's word: what they looked at stands as the *proof*.

    Raises:
        MayNot: whoever did it does not verify it, and no program does.
        CannotMove: it is not done yet.
        ReasonMissing: nothing is said about what was looked at.
    """
    action = _locked(action, author)
    if author.by is None or action.done_by_id == author.by.pk:
        raise MayNot(_("You did it yourself: somebody else has to look whether it works, or a probe."))
    told = require_reason(require_line(proof, most=_LONGEST_PROOF, what=_("proof")))
    return _verified(action, told, author, now)


def verify_by_probes(*, now: datetime) -> int:
    """End the actions that a probe proves by now; returns how many. Twice does what once does."""
    waiting = CorrectiveAction.objects.filter(state=ActionState.DONE, incident__cluster__closed_at=None)
    found = waiting.exclude(item="").select_related("incident__cluster", "node")
    return sum(_verify_by_probe(action, now) for action in found)


@transaction.atomic
def _verify_by_probe(action: CorrectiveAction, now: datetime) -> bool:
    if proof_of(action, now=now) is None:
        return False
    action = _locked(action, PORTAL)
    proof = proof_of(action, now=now)
    if action.state != ActionState.DONE or proof is None:
        return False
    said = f"{action.item}: {proof.passing} / {proof.rows} pass"
    _verified(action, said, PORTAL, now)
    return True


def _verified(action: CorrectiveAction, proof: str, author: Author, now: datetime) -> CorrectiveAction:
    if action.state != ActionState.DONE:
        raise CannotMove(_("Say first that the action is done; then somebody else, or a probe, verifies it."))
    action.state, action.verified_at, action.verified_by = ActionState.VERIFIED.value, now, author.by
    action.proof = proof
    action.save(update_fields=["state", "verified_at", "verified_by", "proof"])
    _told(action, ActionState.DONE, author, now, text=proof)
    return action


def _require_provable(incident: Incident, plan: Plan) -> None:
    if plan.item and plan.item not in ruleset_for(incident.cluster, plan.node).applicable:
        raise IncidentRefused(_("%(item)s is no item that is asked of this cluster.") % {"item": plan.item})
    if plan.node is not None and (plan.node.cluster_id != incident.cluster_id or not plan.item):
        raise IncidentRefused(_("Name a node of the incident's cluster, and the item that proves it there."))


def _told(action: CorrectiveAction, before: str, author: Author, now: datetime, *, text: str = "") -> None:
    """The act's line in the timeline, and its entry in the ledger."""
    incident = action.incident
    kind = EventKind.VERIFIED if action.state == ActionState.VERIFIED else EventKind.ACTION
    data = {"action": action.pk, "title": action.title, "before": str(before), "after": action.state}
    add_event(incident, kind, author=author, now=now, text=text, data=data)
    refresh(incident)
    write_act("action_moved", incident, author=author, now=now, reason=text, data=data)


def _locked(action: CorrectiveAction, author: Author) -> CorrectiveAction:
    require_author(author, action.incident.cluster)
    lock_incidents(action.incident.cluster)
    found = CorrectiveAction.objects.select_related("incident__cluster", "incident__run", "node")
    return found.select_for_update(of=("self",), no_key=True).get(pk=action.pk)
