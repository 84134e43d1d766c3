"""Whether the machine behind a report is the one that was enrolled, and still the only one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from checks.domain.verdicts import Reason
from checks.services.hardware import SerialCheck, check_serials
from checks.services.node_store import NodeIdentity, Presented
from checks.services.report_v1 import ReportV1

_BOOTS_KEPT = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """What a report says about its machine.

    *subjects* renames reported subjects to those on file; *replaced* are subjects whose hardware is another since the
    last report, so that nothing remembered of them holds; *changes* are the node's new columns, None when none changed.
    """

    trouble: str
    subjects: Mapping[str, str]
    replaced: frozenset[str]
    changes: NodeIdentity | None


def recognise(presented: Presented, report: ReportV1, *, observed_at: datetime) -> Machine:
    """Compare serials and boot id with those on file.

    Trouble stays until a person ends it: the evidence of two machines, or of another one, proves nothing about a node.
    """
    serials = check_serials(presented.serials, report.node.serials)
    identity = NodeIdentity(
        boot_id=presented.boot_id, boot_since=presented.boot_since, past_boots=presented.past_boots,
        trouble=presented.trouble, serials=serials.known, unconfirmed_serials=presented.unconfirmed_serials,
        agent_version=report.agent_version,
    )  # fmt: skip
    replaced = _note_serials(identity, serials)
    if report.node.boot_id != presented.boot_id:
        _note_boot(identity, presented, report, observed_at)
    return Machine(identity.trouble, serials.subjects, replaced, identity if _differs(identity, presented) else None)


def _note_serials(identity: NodeIdentity, serials: SerialCheck) -> frozenset[str]:
    new = {slot for slot, serial in serials.changed.items() if identity.unconfirmed_serials.get(slot) != serial}
    if serials.changed:
        identity.unconfirmed_serials = {**identity.unconfirmed_serials, **serials.changed}
        identity.trouble = identity.trouble or Reason.HARDWARE_CHANGED
    return frozenset(new)


def _note_boot(identity: NodeIdentity, presented: Presented, report: ReportV1, observed_at: datetime) -> None:
    """A boot id seen first is a reboot; one that was replaced and measures on is a second machine.

    A spooled report of an earlier boot is neither: it was measured before the present boot began. Replays bring the
    boot ids of their captures in any order, so they tell nothing.
    """
    earlier = presented.boot_since is not None and observed_at < presented.boot_since
    if report.node.boot_id in presented.past_boots:
        if not earlier and presented.origin == "live":
            identity.trouble = identity.trouble or Reason.BOOT_CONFLICT
        if not earlier and presented.origin == "replay":
            identity.boot_id, identity.boot_since = report.node.boot_id, observed_at
    elif not earlier:
        identity.past_boots = [boot for boot in (presented.boot_id, *presented.past_boots) if boot][:_BOOTS_KEPT]
        identity.boot_id, identity.boot_since = report.node.boot_id, observed_at


def _differs(identity: NodeIdentity, presented: Presented) -> bool:
    return any(getattr(identity, name) != getattr(presented, name) for name in NodeIdentity.__struct_fields__)
