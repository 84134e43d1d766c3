"""The gate's answer to a run: may it start on these nodes, may it come back, now?

One statement beside the gate's first; two where a restart finds that what a node is has changed, and says how. What
the rows amount to is decided by `checks.domain.launch`, from the same facts as on the pages where people sign.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import msgspec

from checks.domain.answers import Answer
from checks.domain.launch import decide_restart, decide_start
from checks.domain.launch_facts import IdentityChange, Launch, NodeFacts, RunFacts, Started, identity_changes
from checks.domain.looking import NodeSummary, Question
from checks.domain.package import Package
from checks.domain.profiles import Ruleset
from checks.domain.signoff import layer_state
from checks.domain.units import Scalar
from checks.domain.verdicts import NODE_HELD, Cadence, Layer, Purpose
from checks.models import Cluster, Run
from checks.selectors.contributors import layers_touched
from checks.selectors.gate_context import GateCluster, GateContext, NoSuchRun
from checks.selectors.gate_rows import bad_rows_of, odd_of, rules_of, summaries_of
from checks.selectors.launching import shared_changes, shared_facts
from checks.selectors.packages import RunState, packages_of
from checks.selectors.pool_rows import PoolNode
from checks.selectors.prepared import fetch_row
from checks.selectors.rules import rules_in_force
from checks.selectors.run_rows import LaunchRows, RunRows, StartedRow, read_changed, read_launch
from checks.selectors.run_sql import POOL_NAMES
from checks.selectors.shared_rows import SharedItem, shared_items, subject_of

#: Identity values by name.
Identity: TypeAlias = Mapping[str, Scalar]

_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer and the rows behind it. ``of_one_moment``: all was read in the state that the rows name."""

    answer: Answer
    rows: LaunchRows
    of_one_moment: bool


def answer_run(
    context: GateContext, *, run: str, nodes: Sequence[str] | None, purpose: Purpose, now: datetime
) -> RunAnswer:
    """Whether *run* may start, or come back, on *nodes* (None: on its pool).

    Raises:
        NoSuchRun: the cluster has no such run.
    """
    rules = rules_of(context.cluster)
    rows, signed = read_launch(context.cluster, run, nodes, purpose=purpose, rules=rules, now=now)
    if rows.run is None:
        raise NoSuchRun(run)
    state = _state(context, rows.run, signed, now)
    launch = _launch(context, rows, state, named=nodes is not None, purpose=purpose)
    if purpose is Purpose.RESTART:
        changes, same_moment = _identities(rows, state, nodes)
        started = _started(rows.run.started, signed)
        return RunAnswer(decide_restart(launch, started, changes, now=now), rows, same_moment)
    return RunAnswer(decide_start(launch, state.layers, shared_facts(state), now=now), rows, of_one_moment=True)


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
    hands = _hands(run, rows, nodes, ruleset, {layer: one.roles for layer, one in policy.policy.layers.items()})
    layers = {
        layer: layer_state(
            [
                one.facts(contributor=(layer, one.signer) in hands, now=now)
                for one in rows.signatures or ()
                if one.layer is layer
            ],
            packages[layer], signed, policy.policy.layers[layer], run.nodes_needed, now,
        )
        for layer in Layer
    }  # fmt: skip
    return RunState(run, now, policy, nodes, shared, waivers, packages, {}, signed, {}, layers)


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


def _hands(
    run: Run, rows: RunRows, nodes: Sequence[PoolNode], ruleset: Ruleset, roles: Mapping[Layer, Sequence[str]]
) -> set[tuple[Layer, int]]:
    """(layer, person) of every signer who had a hand in what there is to sign of it."""
    uuids, names = {node.uuid for node in nodes}, {node.hostname for node in nodes}
    found: set[tuple[Layer, int]] = set()
    for node, key, subject, person in rows.stated or ():
        item = ruleset.items.get(key)
        if item and (node in uuids if item.scope in NODE_HELD else subject == subject_of(item.scope, run)):
            found.add((item.layer, person))
    complete = [(layer, at) for layer, signed, at in rows.rounds or () if set(roles[layer]) <= set(signed)]
    for edit in rows.edits or ():
        for layer in layers_touched(edit.entry(), run, names, ruleset):
            if all(at < edit.at for signed_layer, at in complete if signed_layer is layer):
                found.add((layer, edit.who_id))
    return found


def _launch(context: GateContext, rows: LaunchRows, state: RunState, *, named: bool, purpose: Purpose) -> Launch:
    """What both questions need to know."""
    assert rows.run is not None  # noqa: S101  (the caller looked)
    run = rows.run
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
        ends=[*_ends(run)],
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


def _identities(rows: LaunchRows, state: RunState, nodes: Sequence[str] | None) -> tuple[list[IdentityChange], bool]:
    """Identity values of the asked nodes, and of what no node holds, that are not the signed ones; and whether they
    are of the same moment.

    What has the signed hash has the signed values: the hash covers them. Only the rest is looked at.
    """
    basis = rows.run.started.basis if rows.run and rows.run.started else []
    signed = {part.layer: state.signed_packages[part.digest] for part in basis}
    asked = [node for node in state.nodes if nodes is None or node.hostname in nodes]
    differing = [
        (layer, node, package.nodes[node.uuid])
        for layer, package in signed.items()
        for node in asked
        if node.uuid in package.nodes and node.digests.get(layer) != package.nodes[node.uuid]
    ]
    shared = {layer: one.shared for layer, one in signed.items() if one.shared != state.packages[layer].shared}
    if not differing and not shared:
        return [], True
    digests = [*shared.values(), *(digest for _, _, digest in differing)]
    changed = read_changed(digests, [node.uuid for _, node, _ in differing])
    leaves, known = changed.stored_leaves(), _known(changed.known or ())
    found = [
        change
        for layer, node, digest in differing
        for change in identity_changes(node.hostname, layer, leaves.get(digest, []), known.get(node.uuid, {}))
    ]
    found += shared_changes(state.shared, {layer: leaves.get(digest, []) for layer, digest in shared.items()})
    return found, changed.snapshot == rows.snapshot


def _known(rows: Sequence[tuple[str, str, str, Identity]]) -> dict[str, dict[tuple[str, str], Identity]]:
    found: dict[str, dict[tuple[str, str], Identity]] = {}
    for node, item, subject, identity in rows:
        found.setdefault(node, {})[item, subject] = identity
    return found
