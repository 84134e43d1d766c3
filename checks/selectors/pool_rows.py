"""The nodes of a run's pool as signing sees them: their hashes, and what keeps each from being signed now."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min, Q, QuerySet

from checks.domain.answers import Why
from checks.domain.freshness import is_stale
from checks.domain.package import WaiverFacts
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence, Layer, Reason, Severity, Verdict
from checks.models import Node, NodeItemState, Run
from checks.selectors.blockers import SignBlocker
from checks.selectors.rules import rules_in_force

_RENEWED = (Cadence.TICK, Cadence.DAILY)
_NOT_RENEWED = (Cadence.OFFLINE, Cadence.ATTESTED, Cadence.RUN)


@dataclass(frozen=True, slots=True)
class PoolNode:
    """One node of the pool: *digests* are its hashes by layer, *until* the end of its tick and daily evidence."""

    uuid: str
    hostname: str
    profile: str
    trouble: str
    origin: str
    retired: bool
    judged_under: str
    digests: Mapping[str, str]
    until: Mapping[Cadence, datetime | None]


def pool_nodes(run: Run) -> tuple[PoolNode, ...]:
    """Every node of the pool, in one statement; one without a summary was never measured and has no hash."""
    found = Node.objects.filter(runs=run).select_related("readiness").order_by("hostname")
    return tuple(_pool_node(node, run.cluster.profile) for node in found)


def _pool_node(node: Node, profile: str) -> PoolNode:
    summary = getattr(node, "readiness", None)
    return PoolNode(
        uuid=str(node.pk), hostname=node.hostname, profile=node.profile or profile, trouble=node.trouble,
        origin=node.origin, retired=node.retired_at is not None,
        judged_under=summary.judged_under if summary else "", digests=summary.digests if summary else {},
        until={
            Cadence.TICK: summary.tick_until if summary else None,
            Cadence.DAILY: summary.daily_until if summary else None,
        },
    )  # fmt: skip


def whole_node_blockers(nodes: Iterable[PoolNode], run: Run, layer: Layer, now: datetime) -> Iterator[SignBlocker]:
    """Reasons that speak of a whole node: it was taken out, is not believed, or has no evidence of now."""
    asked: dict[str, tuple[Cadence, ...]] = {}
    for node in nodes:
        rules = run.cluster.judged_under.get(node.profile, "")
        if rules and node.profile not in asked:
            ruleset = rules_in_force(rules, cluster_id=run.cluster_id, profile=node.profile)
            asked[node.profile] = cadences_of(ruleset, layer)
        for code in _codes_of(node, rules, asked.get(node.profile, ()), layer, now):
            yield SignBlocker(node.hostname, "", "", code, node.uuid)


def cadences_of(ruleset: Ruleset, layer: Layer) -> tuple[Cadence, ...]:
    """In which cadences a node has to report by itself for *layer*."""
    of_layer = (ruleset.items[key] for key in ruleset.of_nodes)
    found = {item.cadence for item in of_layer if item.layer is layer and item.blocks_gates}
    return tuple(cadence for cadence in _RENEWED if cadence in found)


def row_blockers(
    nodes: Collection[PoolNode], layer: Layer, waivers: Iterable[WaiverFacts], now: datetime
) -> Iterator[SignBlocker]:
    """Rows of the nodes that keep them from being signed: failed, unknown, unsettled or too old. One statement."""
    names = {node.uuid: node.hostname for node in nodes}
    accepted = {(waiver.item, node) for waiver in waivers for node in waiver.nodes}
    bad = Q(raw__in=[Verdict.UNKNOWN, Verdict.FAIL]) | Q(settled__in=["", Verdict.FAIL])
    bad |= ~Q(pending="") | Q(valid_until__lt=now)
    rows = _signed_rows(names, layer).filter(bad).values_list(
        "node_id", "item", "subject", "raw", "settled", "pending", "reason", "detail", "valid_until"
    )  # fmt: skip
    for node_id, item, subject, raw, settled, pending, reason, detail, until in rows.order_by(
        "node", "item", "subject"
    ):
        waived = (item, str(node_id)) in accepted
        code = _code_of_row(raw, settled, pending, reason, is_stale(until, now), waived)
        if code:
            yield SignBlocker(names[str(node_id)], item, subject, code, str(node_id), detail)


def odd_blockers(
    odd: Iterable[Why], nodes: Iterable[PoolNode], layer: Layer, waivers: Iterable[WaiverFacts]
) -> Iterator[SignBlocker]:
    """Rows that pass by themselves, and differ from those of the other nodes where all must be the same."""
    uuids = {node.hostname: node.uuid for node in nodes}
    accepted = {(waiver.item, node) for waiver in waivers for node in waiver.nodes}
    for why in odd:
        if why.layer == layer and (why.item, uuids[why.node]) not in accepted:
            yield SignBlocker(why.node, why.item, why.subject, why.code, uuids[why.node], str(why.value or ""))


def evidence_ends(nodes: Collection[PoolNode], layer: Layer) -> dict[str, datetime]:
    """When the first evidence of each node ends that does not renew itself, by uuid. One statement."""
    rows = _signed_rows({node.uuid for node in nodes}, layer).exclude(raw=Verdict.NA)
    ends = rows.filter(cadence__in=_NOT_RENEWED, valid_until__isnull=False).order_by().values_list("node_id")
    return {str(node_id): end for node_id, end in ends.annotate(Min("valid_until"))}


def settled_failures(nodes: Collection[PoolNode], waivers: Collection[WaiverFacts]) -> set[tuple[str, str]]:
    """(item, node uuid) of every settled failure that a waiver speaks of; one statement, none without waivers."""
    items = {waiver.item for waiver in waivers if waiver.nodes}
    if not items:
        return set()
    failed = NodeItemState.objects.filter(
        node__in=[node.uuid for node in nodes], item__in=items, settled=Verdict.FAIL, shadow=False
    )
    return {(item, str(node_id)) for item, node_id in failed.values_list("item", "node_id")}


def by_node(blockers: Iterable[SignBlocker]) -> dict[str, list[SignBlocker]]:
    """Blockers by the uuid of their node."""
    found: dict[str, list[SignBlocker]] = defaultdict(list)
    for blocker in blockers:
        found[blocker.node].append(blocker)
    return found


def _signed_rows(nodes: Iterable[str], layer: Layer) -> QuerySet[NodeItemState]:
    """Rows that have a leaf once they settled; see `checks.domain.manifest.has_leaf`."""
    live = NodeItemState.objects.filter(node__in=list(nodes), layer=layer, severity=Severity.BLOCKER, shadow=False)
    return live.exclude(cadence=Cadence.START)


def _codes_of(node: PoolNode, rules: str, cadences: Iterable[Cadence], layer: Layer, now: datetime) -> Iterator[str]:
    if node.retired:
        yield Reason.UNKNOWN_NODE
    if node.trouble:
        yield node.trouble
    if node.origin != "live":
        yield Reason.REPLAYED
    if not rules or node.judged_under != rules or layer not in node.digests:
        yield Reason.REJUDGING if node.digests else Reason.NEVER_MEASURED
        return
    for cadence in cadences:
        until = node.until[cadence]
        if until is None:
            yield Reason.NEVER_MEASURED
        elif is_stale(until, now):
            yield Reason.STALE


def _code_of_row(raw: str, settled: str, pending: str, reason: str, stale: bool, waived: bool) -> str:
    """Why a row cannot be signed now; empty where it can."""
    if stale:
        return Reason.STALE
    if raw == Verdict.UNKNOWN:
        return reason or Reason.NOT_MEASURED
    if raw == Verdict.FAIL and settled == Verdict.FAIL and not pending:
        return "" if waived else reason or Reason.CRITERION
    return Reason.UNSETTLED if pending or not settled or Verdict.FAIL in (raw, settled) else ""
