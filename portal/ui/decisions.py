"""What people decide about a node: each with its consequence in one sentence, and the service that does it.

The command ``manage.py node`` calls the same services; both write who, when and why into the ledger.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.models import LedgerEntry, Node, Role
from checks.selectors.pages_access import DECIDING_ROLES, ClusterAccess
from checks.selectors.pages_node import act_on
from checks.selectors.pages_people import people_by_role
from checks.services.enrolment import allow_reenrolment
from checks.services.hardware import is_part
from checks.services.nodes import confirm_node, retire_node, retire_subject
from portal.ui.subjects import subject_label


@dataclass(frozen=True, slots=True)
class Part:
    """A GPU or NIC that can be taken out by itself."""

    subject: str
    label: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Until when the host name may enrol again, and who said so."""

    until: datetime
    act: LedgerEntry | None


@dataclass(frozen=True, slots=True)
class Decisions:
    """What stands on the node's page: what this reader may decide, or who else may."""

    may: bool
    who: tuple[tuple[str, tuple[str, ...]], ...]
    leave: Leave | None
    retirement: LedgerEntry | None
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Serial:
    """What stands in one slot: the serial on file, and the one reported now where it is another, else nothing."""

    slot: str
    on_file: str
    now: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One act on one node, to be confirmed: *act* takes ``node``, ``by``, ``reason`` and ``now``."""

    key: str
    title: str
    consequence: str
    done: str
    act: Callable[..., Node]
    ends: bool = False
    serials: tuple[Serial, ...] = ()


def decisions_about(access: ClusterAccess, node: Node, subjects: Collection[str], *, now: datetime) -> Decisions:
    """What may be decided about *node*, whose rows are of *subjects*."""
    open_until = node.reenrol_until if node.reenrol_until and now < node.reenrol_until else None
    parts = sorted((each for each in subjects if is_part(each)), key=lambda each: (each[:3], len(each), each))
    return Decisions(
        may=access.may_decide,
        who=() if access.may_decide else _who(access),
        leave=Leave(open_until, act_on(node, "reenrolment_allowed")) if open_until else None,
        retirement=act_on(node, "node_retired") if node.retired_at else None,
        parts=tuple(Part(each, subject_label(each)) for each in parts),
    )


def decision_of(key: str, node: Node, part: str) -> Decision | None:
    """The decision of that address about *node*, or about one *part* of it; None where there is no such."""
    if key == "retire" and part:
        return _retire_part(node, part) if is_part(part) else None
    known = {"allow-reenrolment": _allow, "confirm": _confirm, "retire": _retire}
    return known[key](node) if key in known else None


def serials_of(node: Node) -> tuple[Serial, ...]:
    """Every slot with the serial on file, and the one that waits to be confirmed."""
    slots = sorted({*node.serials, *node.unconfirmed_serials})
    return tuple(Serial(slot, node.serials.get(slot, "—"), node.unconfirmed_serials.get(slot, "")) for slot in slots)


def refused(refusal: CountersignError, node: Node) -> str:
    """Why nothing was done, in the reader's language: as a rule somebody else was faster."""
    until = f"{node.reenrol_until:%H:%M}" if node.reenrol_until else ""
    said = {
        "already_allowed": _("Somebody allowed it already: it may enrol again until %(until)s UTC.") % {"until": until},
        "nothing_to_confirm": _("Nothing waits for a confirmation any more: somebody was faster."),
        "changed_meanwhile": _("The serials changed again since you looked. Look at them anew; nothing was confirmed."),
        "already_retired": _("It is retired already: somebody was faster."),
    }
    return said.get(refusal.code, refusal.message)


def _who(access: ClusterAccess) -> tuple[tuple[str, tuple[str, ...]], ...]:
    people = people_by_role(access.cluster)
    order = (role for role in Role if role in DECIDING_ROLES)
    return tuple((str(role.label), tuple(people.get(role.value, ()))) for role in order)


def _allow(node: Node) -> Decision:
    name = {"node": node.hostname}
    return Decision(
        key="allow-reenrolment",
        title=_("Allow re-enrolment"),
        consequence=_(
            "For 15 minutes a machine that calls itself %(node)s may enrol with an enrolment token; the one that does "
            "takes over this node's name and history, and the present agent's token ends."
        )
        % name,
        done=_("%(node)s may enrol again for the next 15 minutes.") % name,
        act=allow_reenrolment,
    )


def _confirm(node: Node) -> Decision:
    name = {"node": node.hostname}
    changed = _(
        "The serials reported now become those of %(node)s, and what this machine measures counts again from its next "
        "report."
    )
    one_machine = _(
        "You state that one machine alone reports as %(node)s, and what it measures counts again from its next report."
    )
    serials = tuple(each for each in serials_of(node) if each.now)
    return Decision(
        key="confirm",
        title=_("Confirm hardware"),
        consequence=(changed if serials else one_machine) % name,
        done=_("%(node)s is believed again from its next report.") % name,
        act=confirm_node,
        serials=serials,
    )


def _retire(node: Node) -> Decision:
    name = {"node": node.hostname}
    return Decision(
        key="retire",
        title=_("Retire the node"),
        consequence=_(
            "No job is asked about %(node)s any more and its agent's token ends at once; its history stays, and it "
            "comes back only when somebody allows it to enrol again."
        )
        % name,
        done=_("%(node)s is retired, and its token revoked.") % name,
        act=retire_node,
        ends=True,
    )


def _retire_part(node: Node, part: str) -> Decision:
    names = {"node": node.hostname, "part": subject_label(part)}
    return Decision(
        key="retire",
        title=_("Retire %(part)s") % names,
        consequence=_(
            "%(part)s of %(node)s is judged no more, whatever its profile expects: a start will no longer notice that "
            "it is missing or broken."
        )
        % names,
        done=_("%(part)s of %(node)s is retired.") % names,
        act=partial(retire_subject, subject=part),
        ends=True,
    )
