"""How a run's question is answered: may it start, and, once it runs, may it come back?

*start* asks everything: every blocker of every layer, a node's or not, and the signatures. *restart* asks what must hold
at three in the morning without two people: the nodes' physical and system blockers of tick and day, that all identity
values are the signed ones, and that the signatures, valid when the run started, were not revoked since.

Named nodes must all be ready. Without names the run's pool is asked, and as many ready nodes as the job needs suffice.
A failure under a waiver in force is told as *waived* and closes nothing. An override opens the gate past exactly the
blockers that it lists; with any other one it is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from checks.domain.answers import NO_MAINTENANCE, Answer, Maintenance, Why
from checks.domain.forcing import Blocker, OverrideFacts
from checks.domain.items import Item
from checks.domain.looking import (
    BadRow,
    NodeSummary,
    Question,
)
from checks.domain.package import WaiverFacts
from checks.domain.signoff import LayerState
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
    raw verdict is. ``named`` is false where the question names no node and the whole pool is asked.
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

    *waivers* are all of the run, in force or not. *override* is the newest that nobody took back; one that has been over
    for more than a day need not be brought.
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


def decide_start(launch: Launch, states: Mapping[Layer, LayerState], shared: SharedFacts, *, now: datetime) -> Answer:
    """Whether the run may start at *now*; a layer without a state counts as unsigned."""
    raise NotImplementedError


def start_blockers(
    launch: Launch, states: Mapping[Layer, LayerState], shared: SharedFacts, *, now: datetime
) -> tuple[Blocker, ...]:
    """Everything that an override has to accept for a start; what nobody can accept is left out."""
    raise NotImplementedError


def decide_restart(
    launch: Launch, started: Started | None, identities: Iterable[IdentityChange], *, now: datetime
) -> Answer:
    """Whether the run may come back at *now*; *identities* are those that are not the signed ones."""
    raise NotImplementedError


def restart_blockers(
    launch: Launch, started: Started | None, identities: Iterable[IdentityChange], *, now: datetime
) -> tuple[Blocker, ...]:
    """Everything that an override has to accept for a restart; what nobody can accept is left out."""
    raise NotImplementedError


def identity_changes(
    node: str,
    layer: Layer,
    signed: Iterable[Mapping[str, Any]],
    current: Mapping[tuple[str, str], Mapping[str, Scalar]],
) -> tuple[IdentityChange, ...]:
    """Identity values of *signed* leaves (as they were stored) that are other ones now, or that nobody knows any more.

    *current* are the known values of each (item, subject). A value that is seen for the first time is no change.
    """
    raise NotImplementedError
