"""What is known when a run asks whether it may start, or come back; `checks.domain.launch` decides from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from checks.domain.answers import NO_MAINTENANCE, Maintenance, Why
from checks.domain.canonical import canonical_bytes
from checks.domain.forcing import OverrideFacts
from checks.domain.items import Item
from checks.domain.looking import BadRow, NodeSummary, Question
from checks.domain.package import WaiverFacts
from checks.domain.units import Scalar
from checks.domain.verdicts import Layer


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The run as it is now: its stage, how many nodes the job needs, and its pool as host name -> node uuid."""

    stage: str
    nodes_needed: int
    pool: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The asked nodes, as for `readiness.decide`; their *bad_rows* must be all there are, or the gate stays closed.

    ``unsettled`` are rows of blockers whose last counted measurements do not all say what has settled, whatever the
    raw verdict is. ``named`` is false where the question names no node and the whole pool is asked. A start needs the
    end of a node's offline, attested, run and start evidence in its summary's ``until``, beside tick and day.
    """

    summaries: Sequence[NodeSummary]
    bad_rows: Sequence[BadRow] = ()
    unsettled: Sequence[BadRow] = ()
    compared: Sequence[Why] = ()
    suspects: Collection[str] = frozenset()
    named: bool = True


@dataclass(frozen=True, slots=True)
class Launch:
    """What both questions need to know. *ends* are further moments at which the answer changes.

    *waivers* are all of the run, in force or not. *override* is the newest that nobody took back; one that has been
    over for more than a day need not be brought.
    """

    question: Question
    run: RunFacts
    nodes: NodeFacts
    waivers: Sequence[WaiverFacts] = ()
    override: OverrideFacts | None = None
    ends: Sequence[datetime] = ()
    maintenance: Maintenance = NO_MAINTENANCE


@dataclass(frozen=True, slots=True)
class SharedRow:
    """The latest verdict, good or bad, of a blocker that is not a node's; ``row.node`` is empty."""

    row: BadRow
    unsettled: bool = False


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """What is not a node's: the blockers that must have been measured, and what is known of them."""

    expected: Sequence[Item] = ()
    rows: Sequence[SharedRow] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """What the start of the run froze.

    ``signed`` are layers whose signatures stood then, ``revoked`` those of which one was revoked since. ``covered`` are
    uuids of nodes that the signed package of every layer names.
    """

    restart_until: datetime
    signed: frozenset[Layer]
    revoked: frozenset[Layer]
    covered: frozenset[str]


@dataclass(frozen=True, slots=True)
class IdentityChange:
    """An identity value that is not the signed one; ``node`` is a host name, or empty for what is not a node's."""

    node: str
    layer: Layer
    item: str
    subject: str
    name: str
    signed: str
    now: str


def identity_changes(
    node: str,
    layer: Layer,
    signed: Iterable[Mapping[str, Any]],
    current: Mapping[tuple[str, str], Mapping[str, Scalar]],
) -> tuple[IdentityChange, ...]:
    """Identity values of *signed* leaves (as they were stored) that are other ones now, or that nobody knows any more.

    *current* are the known values of each (item, subject). A value that is seen for the first time is no change.
    """
    return tuple(
        IdentityChange(node, layer, leaf["item"], leaf["subject"], name, _text(was), _text(now))
        for leaf in signed
        for name, was in sorted(leaf["identity"].items())
        if _text(was) != _text(now := current.get((leaf["item"], leaf["subject"]), {}).get(name, ""))
    )


def _text(value: Scalar) -> str:
    """5, 5.0 and "5" are one value, as they are one digest."""
    return value if isinstance(value, str) else canonical_bytes(value).decode().strip('"')
