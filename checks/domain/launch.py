"""How a run's question is answered: may it start, and, once it runs, may it come back?

*start* asks everything: every blocker of every layer, a node's or not, and the signatures. *restart* asks what must
hold at three in the morning without two people: the nodes' physical and system blockers of tick and day, that all
identity values are the signed ones, and that the signatures, valid when the run started, were not revoked since.

Named nodes must all be ready. Without names the run's pool is asked, and as many ready nodes as the job needs suffice.
A failure under a waiver in force is told as *waived* and closes nothing. An override opens the gate past exactly the
blockers that it lists; with any other one it is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from checks.domain.answers import Answer, Basis, LayerSigned, Why
from checks.domain.forcing import Blocker, blockers_of
from checks.domain.freshness import is_stale
from checks.domain.launch_case import AskedNode, Case, answer_of
from checks.domain.launch_facts import (
    IdentityChange,
    Launch,
    NodeFacts,
    RunFacts,
    SharedFacts,
    SharedRow,
    Started,
    identity_changes,
)
from checks.domain.looking import (
    BadRow,
    NodeSummary,
    by_node,
    is_rejudging,
    measuring,
    nothing_proved,
    of_node,
    of_nodes,
    rejudging,
    rows_cut_off,
    why_of_row,
)
from checks.domain.package import WaiverFacts
from checks.domain.signoff import LayerState, SignState
from checks.domain.verdicts import BLOCKING, Cadence, Layer, Owner, Reason, Verdict

__all__ = [
    "IdentityChange", "Launch", "NodeFacts", "RunFacts", "SharedFacts", "SharedRow", "Started", "decide_restart",
    "decide_start", "identity_changes", "restart_blockers", "start_blockers",
]  # fmt: skip

#: Stages of a run that has ended, and of one that runs.
OVER: Final = frozenset({"finished", "aborted"})
RUNNING: Final = "running"

_RESTART_CADENCES: Final = frozenset({Cadence.TICK, Cadence.DAILY})
_RESTART_LAYERS: Final = frozenset({Layer.PHYSICAL, Layer.SYSTEM})
_CODES: Final = {
    SignState.UNSIGNED: Reason.UNSIGNED,
    SignState.HALF: Reason.HALF_SIGNED,
    SignState.OUTDATED: Reason.OUTDATED,
    SignState.EXPIRED: Reason.EXPIRED,
    SignState.REVOKED: Reason.REVOKED,
}


def decide_start(launch: Launch, states: Mapping[Layer, LayerState], shared: SharedFacts, *, now: datetime) -> Answer:
    """Whether the run may start at *now*; a layer without a state counts as unsigned."""
    return answer_of(_start_case(launch, states, shared, now), now)


def decide_restart(
    launch: Launch, started: Started | None, identities: Iterable[IdentityChange], *, now: datetime
) -> Answer:
    """Whether the run may come back at *now*; *identities* are those that are not the signed ones."""
    return answer_of(_restart_case(launch, started, identities, now), now)


def start_blockers(
    launch: Launch, states: Mapping[Layer, LayerState], shared: SharedFacts, *, now: datetime
) -> tuple[Blocker, ...]:
    """Everything that an override has to accept for a start; what nobody can accept is left out."""
    return blockers_of(_start_case(launch, states, shared, now).closing, launch.run.pool)


def restart_blockers(
    launch: Launch, started: Started | None, identities: Iterable[IdentityChange], *, now: datetime
) -> tuple[Blocker, ...]:
    """Everything that an override has to accept for a restart; what nobody can accept is left out."""
    return blockers_of(_restart_case(launch, started, identities, now).closing, launch.run.pool)


def _start_case(launch: Launch, states: Mapping[Layer, LayerState], shared: SharedFacts, now: datetime) -> Case:
    known = {layer: states.get(layer) or LayerState(SignState.UNSIGNED, 0, (), ()) for layer in Layer}
    outdated = [(layer, one.outdated_nodes) for layer, one in known.items() if one.signed and one.outdated_nodes]
    about = {
        host: [_outdated(host, layer) for layer, uuids in outdated if uuid in uuids]
        for host, uuid in launch.run.pool.items()
    }
    nodes = launch.nodes
    return Case(
        launch=launch,
        whole=[
            *_of_run(launch),
            *of_nodes(launch.question, found=len(nodes.summaries)),
            *_of_layers(known),
            *_of_shared(launch, shared, now),
        ],
        nodes=_look(launch, about, now),
        basis=Basis.SIGNED,
        signatures=tuple(LayerSigned(layer, state.state, state.missing_roles) for layer, state in known.items()),
        ends=[
            *_ends(launch, [*nodes.bad_rows, *nodes.unsettled, *(one.row for one in shared.rows)]),
            *(state.until for state in known.values() if state.signed and state.until is not None),
        ],
    )


def _restart_case(launch: Launch, started: Started | None, identities: Iterable[IdentityChange], now: datetime) -> Case:
    asked = _asked_again(launch)
    nodes, pool = asked.nodes, launch.run.pool
    changed = by_node(_of_identity(one) for one in identities)
    covered = started.covered if started else frozenset(pool.values())
    about = {
        host: changed.get(host, []) + ([] if uuid in covered else [_outdated(host)]) for host, uuid in pool.items()
    }
    return Case(
        launch=launch,
        whole=[
            *_of_run(launch),
            *of_nodes(launch.question, found=len(nodes.summaries)),
            *_of_start(launch, started, now),
            *changed.get("", ()),
        ],
        nodes=_look(asked, about, now),
        basis=Basis.SIGNED_AT_START,
        signatures=tuple(LayerSigned(layer, _at_start(layer, started)) for layer in Layer),
        ends=[*_ends(asked, [*nodes.bad_rows, *nodes.unsettled]), *([started.restart_until] if started else ())],
    )


def _asked_again(launch: Launch) -> Launch:
    """The launch with only what a restart asks of its nodes."""
    nodes = launch.nodes
    left_out = Counter(row.node for row in nodes.bad_rows if not _is_asked_again(row))
    asked = replace(
        nodes,
        summaries=[_tick_and_day(one, left_out[one.node]) for one in nodes.summaries],
        bad_rows=[row for row in nodes.bad_rows if _is_asked_again(row)],
        unsettled=[row for row in nodes.unsettled if _is_asked_again(row)],
        compared=[why for why in nodes.compared if why.layer in _RESTART_LAYERS],
    )
    return replace(launch, nodes=asked)


def _tick_and_day(summary: NodeSummary, left_out: int) -> NodeSummary:
    if not left_out and summary.until.keys() | summary.expected <= _RESTART_CADENCES:
        return summary
    until = {cadence: end for cadence, end in summary.until.items() if cadence in _RESTART_CADENCES}
    return replace(summary, expected=summary.expected & _RESTART_CADENCES, until=until, bad=summary.bad - left_out)


def _is_asked_again(row: BadRow) -> bool:
    """Whether a restart asks for it. A value that nobody could measure is no longer known to be the signed one."""
    lost = row.identifies and row.verdict is Verdict.UNKNOWN
    return row.cadence in _RESTART_CADENCES and (row.layer in _RESTART_LAYERS or lost)


def _look(launch: Launch, about: Mapping[str, list[Why]], now: datetime) -> list[AskedNode]:
    """Every asked node; *about* is what else speaks against nodes of the pool, by host name."""
    rows = by_node([*(why_of_row(row, now) for row in launch.nodes.bad_rows), *launch.nodes.compared])
    unsettled = by_node(_unsettled(row) for row in launch.nodes.unsettled)
    return [
        _look_at(launch, summary, rows.get(summary.node, []), unsettled.get(summary.node, []), about, now)
        for summary in launch.nodes.summaries
    ]


def _look_at(
    launch: Launch,
    summary: NodeSummary,
    rows: list[Why],
    unsettled: list[Why],
    about: Mapping[str, list[Why]],
    now: datetime,
) -> AskedNode:
    name, uuid = summary.node, launch.run.pool.get(summary.node)
    of_pool = about.get(name, []) if uuid else [Why(Reason.NOT_IN_POOL, Verdict.FAIL, name, owner=Owner.USER)]
    if is_rejudging(summary):
        whole = [rejudging(summary), *measuring(summary, now)]
        return AskedNode(name, [*whole, *of_pool], cut_off=0, cut_off_fails=False)
    whole = [*of_node(summary, launch.question.purpose, now), *nothing_proved(summary)]
    told = [_waived(why, uuid or "", launch.waivers, now) for why in rows]
    return AskedNode(
        name,
        [*whole, *of_pool, *told, *_beside(unsettled, told)],
        cut_off=rows_cut_off(summary, rows),
        cut_off_fails=bool(summary.failed and not whole),
    )


def _beside(unsettled: Iterable[Why], told: Iterable[Why]) -> Iterator[Why]:
    """What is not settled and has no other reason that closes the gate."""
    closing = {(why.item, why.subject) for why in told if why.closes}
    return (why for why in unsettled if (why.item, why.subject) not in closing)


def _unsettled(row: BadRow) -> Why:
    why = Why(Reason.UNSETTLED, Verdict.UNKNOWN, row.node, row.layer, row.item, row.subject)
    return replace(why, observed_at=row.observed_at, owner=row.owner)


def _waived(why: Why, uuid: str, waivers: Iterable[WaiverFacts], now: datetime) -> Why:
    """The reason as it counts: a failure under a waiver in force is waived."""
    if why.verdict is not Verdict.FAIL or not why.item:
        return why
    found = any(
        one.in_force(now) and one.layer == why.layer and one.covers(item=why.item, node=uuid) for one in waivers
    )
    return replace(why, code=Reason.WAIVED, verdict=Verdict.WAIVED) if found else why


def _of_run(launch: Launch) -> Iterator[Why]:
    if launch.run.stage in OVER:
        yield Why(Reason.RUN_OVER, Verdict.FAIL, value=launch.run.stage, owner=Owner.USER)


def _of_layers(known: Mapping[Layer, LayerState]) -> Iterator[Why]:
    """A reason for each layer that is not signed."""
    for layer, state in known.items():
        if not state.signed:
            yield _unsigned(layer, _CODES[state.state], ", ".join(state.missing_roles))


def _of_start(launch: Launch, started: Started | None, now: datetime) -> Iterator[Why]:
    """What speaks against coming back, of the run's start."""
    if launch.run.stage in OVER:
        return
    if started is None or launch.run.stage != RUNNING:
        yield Why(Reason.NOT_STARTED, Verdict.FAIL, owner=Owner.USER)
        return
    if is_stale(started.restart_until, now):
        yield Why(Reason.RESTART_OVER, Verdict.FAIL, owner=Owner.USER)
    for layer in Layer:
        state = _at_start(layer, started)
        if state is not SignState.SIGNED:
            yield _unsigned(layer, _CODES[state], "")


def _at_start(layer: Layer, started: Started | None) -> SignState:
    """A layer as a restart sees it: its signatures stood at the start, and were not revoked since."""
    if started is None or layer not in started.signed:
        return SignState.UNSIGNED
    return SignState.REVOKED if layer in started.revoked else SignState.SIGNED


def _unsigned(layer: Layer, code: Reason, missing_roles: str) -> Why:
    return Why(code, Verdict.FAIL, layer=layer, value=missing_roles or None, owner=Owner.USER)


def _outdated(host: str, layer: str = "") -> Why:
    return Why(Reason.OUTDATED_NODE, Verdict.FAIL, host, layer, owner=Owner.USER)


def _of_identity(change: IdentityChange) -> Why:
    return Why(
        code=Reason.IDENTITY_CHANGED,
        verdict=Verdict.FAIL,
        node=change.node,
        layer=change.layer,
        item=change.item,
        subject=change.subject,
        value=f"{change.name} {change.now}".rstrip(),
        threshold=f"{change.name} {change.signed}",
    )


def _of_shared(launch: Launch, shared: SharedFacts, now: datetime) -> Iterator[Why]:
    """What is not a node's: measured and bad, not settled, or never measured at all."""
    measured = {one.row.item for one in shared.rows}
    for item in shared.expected:
        if item.key not in measured:
            why = Why(Reason.NEVER_MEASURED, Verdict.UNKNOWN, "", item.layer, item.key)
            yield replace(why, remedy=item.en.remedy, owner=item.owner)
    for one in shared.rows:
        why = _waived(why_of_row(one.row, now), "", launch.waivers, now)
        if why.verdict in BLOCKING:
            yield why
            continue
        if not why.closes:
            yield why
        if one.unsettled and one.row.cadence is not Cadence.START:
            yield _unsettled(one.row)


def _ends(launch: Launch, rows: Iterable[BadRow]) -> Iterator[datetime]:
    """When evidence, waivers and windows end."""
    yield from launch.ends
    yield from (waiver.until for waiver in launch.waivers)
    yield from (row.until for row in rows if row.until is not None)
    for summary in launch.nodes.summaries:
        yield from summary.ends
