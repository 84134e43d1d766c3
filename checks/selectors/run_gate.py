"""The gate's answer to a run: may it start on these nodes, may it come back, now?

One statement beside the gate's first; two where a restart finds that what a node is has changed, and says how. What
the rows amount to is decided by `checks.domain.launch`, from the same facts as on the pages where people sign.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import msgspec

from checks.domain.answers import Answer
from checks.domain.forcing import Blocker
from checks.domain.launch import decide_restart, decide_start, restart_blockers, start_blockers
from checks.domain.launch_facts import IdentityChange, Launch, NodeFacts, RunFacts, SharedFacts, Started
from checks.domain.looking import NodeSummary, Question
from checks.domain.package import Package
from checks.domain.profiles import Ruleset
from checks.domain.signoff import LayerState, layer_state
from checks.domain.verdicts import Cadence, Layer, Purpose
from checks.models import Cluster, Run
from checks.selectors.contributors import hands_of
from checks.selectors.gate_context import GateCluster, GateContext, NoSuchRun
from checks.selectors.gate_rows import bad_rows_of, odd_of, rules_of, summaries_of
from checks.selectors.packages import RunState, packages_of
from checks.selectors.prepared import fetch_row
from checks.selectors.rules import rules_in_force
from checks.selectors.run_changes import identities_changed
from checks.selectors.run_rows import LaunchRows, RunRows, StartedRow, read_launch
from checks.selectors.run_sql import POOL_NAMES
from checks.selectors.shared_rows import SharedItem, shared_facts, shared_items, subject_of

_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class AskedRun:
    """A run's question, and all that is known when it is answered.

    *layers* are what its signatures amount to. *of_one_moment*: all was read in the state that the rows name.
    """

    now: datetime
    launch: Launch
    layers: Mapping[Layer, LayerState]
    shared: SharedFacts
    started: Started | None
    changes: Sequence[IdentityChange]
    rows: LaunchRows
    of_one_moment: bool

    def answer(self) -> Answer:
        """What the gate says."""
        if self.launch.question.purpose is Purpose.RESTART:
            return decide_restart(self.launch, self.started, self.changes, now=self.now)
        return decide_start(self.launch, self.layers, self.shared, now=self.now)

    def blockers(self) -> tuple[Blocker, ...]:
        """What an override would have to accept, if every row was read."""
        if self.launch.question.purpose is Purpose.RESTART:
            return restart_blockers(self.launch, self.started, self.changes, now=self.now)
        return start_blockers(self.launch, self.layers, self.shared, now=self.now)


def ask_run(
    context: GateContext, *, run: str, nodes: Sequence[str] | None, purpose: Purpose, now: datetime, every: bool = False
) -> AskedRun:
    """Whether *run* may start, or come back, on *nodes* (None: on its pool).

    *every* row that closes the question is read, not only as many as an answer shows.

    Raises:
        NoSuchRun: the cluster has no such run.
    """
    rules, again = rules_of(context.cluster), purpose is Purpose.RESTART
    rows, signed = read_launch(context.cluster, run, nodes, every=every or again, rules=rules, now=now)
    if rows.run is None:
        raise NoSuchRun(run)
    state = _state(context, rows.run, signed, now)
    changes, same_moment = identities_changed(rows, state, nodes) if again else ([], True)
    return AskedRun(
        now=now,
        launch=_launch(context, rows, state, named=nodes is not None, purpose=purpose),
        layers=state.layers,
        shared=shared_facts(state.shared, state.interval),
        started=_started(rows.run.started, signed),
        changes=changes,
        rows=rows,
        of_one_moment=same_moment,
    )


def pool_names(context: GateContext, run: str) -> tuple[str, ...]:
    """Host names of the run's pool that were not taken out; one statement.

    Raises:
        NoSuchRun: the cluster has no such run.
    """
    row = fetch_row(POOL_NAMES, {"run": run, "cluster": context.cluster.id})
    if row is None:
        raise NoSuchRun(run)
    return tuple(msgspec.json.decode(row[0])["names"] or ())


def _state(context: GateContext, rows: RunRows, signed: Mapping[str, Package], now: datetime) -> RunState:
    """The run as `packages.run_state` sees it, but for the signatures themselves: their facts are enough here."""
    run, policy = rows.run(_cluster_of(context)), rows.policy_in_force()
    ruleset = _ruleset_of(context.cluster)
    nodes = tuple(row.node() for row in rows.pool or ())
    shared = _shared(run, rows, ruleset)
    waivers = tuple(row.facts() for row in rows.waivers or ())
    packages = packages_of(run, policy.policy.digest, nodes, shared, waivers, rows.failed or ())
    hands = hands_of(rows.acts(), run, nodes, policy.policy, ruleset)
    layers = {
        layer: layer_state(
            [
                one.facts(contributor=one.signer in hands[layer], now=now)
                for one in rows.signatures or ()
                if one.layer is layer
            ],
            packages[layer], signed, policy.policy.layers[layer], run.nodes_needed, now,
        )
        for layer in Layer
    }  # fmt: skip
    return RunState(run, now, policy, nodes, shared, waivers, packages, {}, signed, hands, layers)


def _ruleset_of(cluster: GateCluster) -> Ruleset:
    """The rules for what no node holds: those of the cluster's own profile."""
    return rules_in_force(cluster.judged_under.get(cluster.profile), cluster_id=cluster.id, profile=cluster.profile)


def _cluster_of(context: GateContext) -> Cluster:
    asked = context.cluster
    return Cluster(
        id=asked.id, slug=asked.slug, profile=asked.profile, interval_s=asked.interval_s,
        judged_under=asked.judged_under,
    )  # fmt: skip


def _shared(run: Run, rows: RunRows, ruleset: Ruleset) -> tuple[SharedItem, ...]:
    """What the run needs and no node holds: what the rules expect, with the row where there is one."""
    stored = {(row.item, row.subject): row for row in rows.scope_states()}
    return tuple(
        SharedItem(item, subject, stored.get((item.key, subject)))
        for item in shared_items(ruleset)
        for subject in [subject_of(item.scope, run)]
    )


def _launch(context: GateContext, rows: LaunchRows, state: RunState, *, named: bool, purpose: Purpose) -> Launch:
    """What both questions need to know."""
    assert rows.run is not None  # noqa: S101  (the caller looked)
    run, (maintenance, changes) = rows.run, context.maintenance(state.now)
    return Launch(
        question=Question(
            purpose=purpose, cluster=context.cluster.slug, run=state.run.slug,
            catalogue_version=context.catalog_version, unknown_nodes=tuple(rows.missing or ()),
        ),
        run=RunFacts(
            state.run.stage,
            state.run.nodes_needed,
            {node.hostname: node.uuid for node in state.nodes if not node.retired},
        ),
        nodes=_nodes(context, rows, state, named=named, purpose=purpose),
        waivers=state.waivers,
        override=run.override.facts() if run.override else None,
        ends=[*_ends(run), *changes],
        maintenance=maintenance,
    )  # fmt: skip


def _nodes(context: GateContext, rows: LaunchRows, state: RunState, *, named: bool, purpose: Purpose) -> NodeFacts:
    rules = rules_of(context.cluster)
    odd = [*odd_of(rows.compared or (), rules)]
    summaries = [*summaries_of(rows, context.cluster.judged_under, odd=odd, purpose=purpose)]
    waiting = msgspec.structs.replace(rows, bad=rows.unsettled)
    return NodeFacts(
        summaries=_with_ends(rows, summaries) if purpose is Purpose.START else summaries,
        bad_rows=[*bad_rows_of(rows, rules, interval=state.interval, now=state.now)],
        unsettled=[*bad_rows_of(waiting, rules, interval=state.interval, now=state.now)],
        compared=odd,
        suspects=context.suspect_items,
        named=named,
    )


def _with_ends(rows: LaunchRows, summaries: Sequence[NodeSummary]) -> list[NodeSummary]:
    """The summaries with the end of the evidence that only a start needs."""
    ends = {row.hostname: row.start_until for row in rows.others or () if row.start_until is not None}
    return [
        replace(one, until={**one.until, Cadence.START: ends[one.node]}) if one.node in ends else one
        for one in summaries
    ]


def _ends(rows: RunRows) -> Iterator[datetime]:
    """Last moments before the clock changes what people said: signatures, who may sign for whom, what was stated."""
    for one in rows.signatures or ():
        if one.expires_at is not None:
            yield one.expires_at
        for change in (one.delegated_from, one.delegated_until):
            if change is not None:
                yield change - _MOMENT
    if rows.stated_until is not None:
        yield rows.stated_until
    if rows.override is not None:
        yield rows.override.until
        yield rows.override.until + timedelta(days=1)


def _started(row: StartedRow | None, signed: Mapping[str, Package]) -> Started | None:
    """What the run's start froze."""
    if row is None:
        return None
    revoked = set(row.revoked or ())
    named = [frozenset(signed[part.digest].nodes) for part in row.basis if part.digest in signed]
    return Started(
        restart_until=row.restart_until,
        signed=frozenset(part.layer for part in row.basis),
        revoked=frozenset(part.layer for part in row.basis if revoked & set(part.signatures)),
        covered=frozenset.intersection(*named) if named else frozenset(),
    )
