"""What a run's question to the gate is answered from, read for `checks.domain.launch`.

The same rows as the gate's own question of health, and all of those that are bad: an override lists each of them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import msgspec
from django.db.models import Q

from checks.domain.answers import Answer
from checks.domain.forcing import OverrideFacts
from checks.domain.launch import decide_restart, decide_start
from checks.domain.launch_facts import IdentityChange, Launch, NodeFacts, RunFacts, SharedFacts, SharedRow, Started
from checks.domain.launch_facts import identity_changes as compare_identities
from checks.domain.looking import BadRow, NodeSummary, Question
from checks.domain.verdicts import Cadence, Layer, Purpose, Reason, Severity, Verdict
from checks.models import Manifest, Node, NodeItemState, NodeReadiness, Override, Revocation, Run, RunStart, StartKind
from checks.selectors.gate_context import GateCluster
from checks.selectors.gate_rows import BadState, GateRows, Rules, bad_rows_of, odd_of, read_rows, rules_of, summaries_of
from checks.selectors.leaves import StoredLeaf, stored_leaves
from checks.selectors.packages import RunState
from checks.selectors.shared_rows import SharedItem
from checks.selectors.waivers import facts_of, open_waivers

_STATE: Final = (
    "node__hostname", "item", "subject", "layer", "cadence", "raw", "reason", "detail", "value", "observed_at",
    "valid_until", "since", "node__readiness__tick_at", "node__readiness__daily_at",
)  # fmt: skip


def answer_start(state: RunState, hostnames: Sequence[str] | None) -> Answer:
    """Whether the run may start on those nodes (None: on its pool), at the time of *state*."""
    return decide_start(launch_of(state, hostnames, Purpose.START), state.layers, shared_facts(state), now=state.now)


def answer_restart(state: RunState, hostnames: Sequence[str] | None) -> Answer:
    """Whether the run may come back on those nodes, at the time of *state*."""
    started = started_of(state.run)
    changes = identity_changes_of(state, hostnames)
    return decide_restart(launch_of(state, hostnames, Purpose.RESTART), started, changes, now=state.now)


def launch_of(state: RunState, hostnames: Sequence[str] | None, purpose: Purpose) -> Launch:
    """Everything that both questions need to know of the run's nodes, its waivers and its override."""
    run, now = state.run, state.now
    pool = {node.hostname: node.uuid for node in state.nodes if not node.retired}
    names = tuple(dict.fromkeys(name.lower() for name in hostnames)) if hostnames is not None else tuple(pool)
    cluster = GateCluster(
        run.cluster_id, run.cluster.slug, run.cluster.profile, run.cluster.interval_s, run.cluster.judged_under
    )
    rules = rules_of(cluster)
    rows = read_rows(cluster, names, purpose=purpose, rules=rules, now=now)
    return Launch(
        question=Question(
            purpose=purpose, cluster=run.cluster.slug, run=run.slug, unknown_nodes=tuple(rows.missing or ())
        ),
        run=RunFacts(run.stage, run.nodes_needed, pool),
        nodes=_nodes(state, rows, rules, names, purpose, named=hostnames is not None),
        waivers=[facts_of(one) for one in open_waivers(run, now=now).filter(approval__isnull=False)],
        override=override_of(run, now=now),
    )


def shared_facts(state: RunState) -> SharedFacts:
    """What is not a node's, as the gate reads it; a row of another version of its item counts as being judged again."""
    return SharedFacts(
        expected=[one.item for one in state.shared],
        rows=[_shared_row(one, state.interval) for one in state.shared if one.row is not None],
    )


def override_of(run: Run, *, now: datetime) -> OverrideFacts | None:
    """The newest override that nobody took back and that has not been over for more than a day."""
    newest = Override.objects.filter(run=run, end=None, until__gte=now - timedelta(days=1)).first()
    if newest is None:
        return None
    accepted = frozenset((str(a), str(b), str(c), str(d)) for a, b, c, d in newest.accepted)
    return OverrideFacts(accepted, frozenset(newest.pool), newest.until)


def start_of(run: Run) -> RunStart | None:
    """The start that a restart is asked against."""
    return RunStart.objects.filter(run=run, kind=StartKind.START).first()


def started_of(run: Run) -> Started | None:
    """What the run's start froze; None where none was told."""
    start = start_of(run)
    if start is None:
        return None
    ids = {number for part in start.basis for number in part["signatures"]}
    revoked = set(Revocation.objects.filter(signature__in=ids).values_list("signature_id", flat=True))
    signed = {Layer(part["layer"]): part for part in start.basis}
    named = [set(manifest.nodes) for manifest in Manifest.objects.filter(pk__in=[one["digest"] for one in start.basis])]
    return Started(
        restart_until=start.restart_until,
        signed=frozenset(signed),
        revoked=frozenset(layer for layer, part in signed.items() if revoked & set(part["signatures"])),
        covered=frozenset(set.intersection(*named) if named else set()),
    )


def identity_changes_of(state: RunState, hostnames: Sequence[str] | None) -> list[IdentityChange]:
    """Identity values of the asked nodes, and of what no node holds, that are not the signed ones; four statements."""
    start = start_of(state.run)
    asked = {name.lower() for name in hostnames} if hostnames is not None else None
    nodes = {node.uuid: node.hostname for node in state.nodes if asked is None or node.hostname in asked}
    if start is None:
        return []
    layers = {part["digest"]: Layer(part["layer"]) for part in start.basis}
    manifests = {layers[one.digest]: one for one in Manifest.objects.filter(pk__in=layers)}
    signed = {layer: {uuid: one.nodes[uuid] for uuid in nodes if uuid in one.nodes} for layer, one in manifests.items()}
    shared = {layer: one.shared for layer, one in manifests.items()}
    leaves = stored_leaves([*shared.values(), *(digest for held in signed.values() for digest in held.values())])
    known: dict[str, dict[tuple[str, str], dict[str, object]]] = {uuid: {} for uuid in nodes}
    rows = NodeItemState.objects.filter(node__in=list(nodes)).exclude(identity={})
    for node_id, item, subject, identity in rows.values_list("node_id", "item", "subject", "identity"):
        known[str(node_id)][item, subject] = identity
    of_nodes = [
        change
        for layer, held in signed.items()
        for uuid, digest in held.items()
        for change in compare_identities(nodes[uuid], layer, leaves.get(digest, []), known[uuid])  # type: ignore[arg-type]
    ]
    return [*shared_changes(state.shared, {layer: leaves.get(one, []) for layer, one in shared.items()}), *of_nodes]


def shared_changes(
    shared: Iterable[SharedItem], signed: Mapping[Layer, Iterable[StoredLeaf]]
) -> Iterator[IdentityChange]:
    """Identity values of what no node holds that are not those of the *signed* leaves of each layer."""
    known = {(one.item.key, one.subject): one.row.identity for one in shared if one.row is not None}
    for layer, leaves in signed.items():
        yield from compare_identities("", layer, leaves, known)


def _nodes(
    state: RunState, rows: GateRows, rules: Rules, names: Sequence[str], purpose: Purpose, *, named: bool
) -> NodeFacts:
    odd = [*odd_of(rows.compared or (), rules)]
    summaries = [*summaries_of(rows, state.run.cluster.judged_under, odd=odd, purpose=purpose)]
    if sum(summary.bad for summary in summaries) > len(rows.bad or ()):
        every = _states(state.run, names, Q(blocks__gte=1))
        rows = msgspec.structs.replace(rows, bad=every)
    unsettled = _states(state.run, names, ~Q(pending="") | Q(settled=""), severity=Severity.BLOCKER, shadow=False)
    waiting = msgspec.structs.replace(
        rows, clean=None, bad=[one for one in unsettled if one.cadence != Cadence.START], compared=None, missing=None
    )
    return NodeFacts(
        summaries=_with_ends(state.run, summaries) if purpose is Purpose.START else summaries,
        bad_rows=[*bad_rows_of(rows, rules, interval=state.interval, now=state.now)],
        unsettled=[*bad_rows_of(waiting, rules, interval=state.interval, now=state.now)],
        compared=odd,
        named=named,
    )


def _with_ends(run: Run, summaries: Iterable[NodeSummary]) -> list[NodeSummary]:
    """The summaries with the end of the evidence that only a start needs."""
    found = NodeReadiness.objects.filter(cluster_id=run.cluster_id).values_list("node__hostname", "start_until")
    ends = {hostname: end for hostname, end in found if end is not None}
    return [
        replace(one, until={**one.until, Cadence.START: ends[one.node]}) if one.node in ends else one
        for one in summaries
    ]


def _states(run: Run, names: Collection[str], which: Q, **more: object) -> list[BadState]:
    """Every row of the nodes that *which* describes, however many."""
    nodes = Node.objects.filter(cluster_id=run.cluster_id, hostname__in=names, retired_at=None)
    rows = NodeItemState.objects.filter(which, node__in=nodes, **more).values_list(*_STATE)
    return [_bad_state(*row) for row in rows]


def _bad_state(
    hostname: str, item: str, subject: str, layer: str, cadence: str, raw: str, reason: str, detail: str,
    value: dict[str, object], observed_at: datetime | None, until: datetime | None, since: datetime,
    tick_at: datetime | None, daily_at: datetime | None,
) -> BadState:  # fmt: skip
    stamp = {"tick": tick_at, "daily": daily_at}.get(cadence)
    seen = max((one for one in (observed_at, stamp) if one is not None), default=None) if observed_at else None
    return BadState(
        hostname, item, subject, layer, cadence, raw, reason, detail, value, observed_at, seen, until, since
    )


def _shared_row(one: SharedItem, interval: timedelta) -> SharedRow:
    row = one.row
    assert row is not None  # noqa: S101  (the caller looked)
    outdated = row.item_version != one.item.version
    verdict = Verdict.UNKNOWN if outdated else Verdict(row.raw)
    return SharedRow(
        BadRow(
            node="", layer=one.item.layer, item=one.item.key, subject=one.subject, verdict=verdict,
            reason=Reason.REJUDGING if outdated else Reason(row.reason or Reason.NOT_MEASURED),
            cadence=one.item.cadence, observed_at=row.observed_at, until=one.ends(interval),
            value=row.detail or None, remedy=one.item.en.remedy, owner=one.item.owner,
        ),
        unsettled=not row.settled or bool(row.pending),
    )  # fmt: skip
