"""What the page of one run shows beside its gates: counts, waivers, overrides, starts and the ledger."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from checks.domain.freshness import is_stale
from checks.domain.verdicts import Layer, Severity, Verdict
from checks.models import LedgerEntry, Node, Override, Run, RunStart, Waiver
from checks.selectors.packages import RunState
from checks.selectors.pages_verdicts import node_states
from checks.selectors.shared_rows import SharedItem

LATEST = 12


def layer_counts(state: RunState) -> dict[Layer, dict[Verdict, int]]:
    """Rows that block, of the pool and of what no node holds, by layer and the verdict that they show now."""
    counts: dict[Layer, Counter[Verdict]] = {layer: Counter() for layer in Layer}
    rows = node_states(_living(state), now=state.now).filter(severity=Severity.BLOCKER, shadow=False)
    for layer, shown, number in rows.order_by().values_list("layer", "shown").annotate(n=Count("*")):
        counts[Layer(layer)][Verdict(shown)] += number
    for waiver, number in _waived(state).items():
        counts[waiver][Verdict.FAIL] -= number
        counts[waiver][Verdict.WAIVED] += number
    for one in state.shared:
        counts[one.item.layer][_shown(one, state)] += 1
    return {layer: {verdict: n for verdict, n in found.items() if n} for layer, found in counts.items()}


def waivers_of(run: Run) -> tuple[Waiver, ...]:
    """All waivers of *run*, newest first, with whoever asked, agreed and ended them."""
    return tuple(Waiver.objects.filter(run=run).select_related("asked_by", "approval__by", "end__by"))


def overrides_of(run: Run) -> tuple[Override, ...]:
    """All times the gate of *run* was forced open, newest first."""
    return tuple(Override.objects.filter(run=run).select_related("by", "end__by"))


def starts_of(run: Run) -> tuple[RunStart, ...]:
    """Starts and restarts, newest first."""
    return tuple(RunStart.objects.filter(run=run).select_related("by"))


def entries_of_run(run: Run, *, limit: int = LATEST) -> tuple[LedgerEntry, ...]:
    """The newest acts about *run*, its layers, waivers and starts."""
    about = Q(target=run.slug) | Q(target__startswith=f"{run.slug}/") | Q(target__startswith=f"{run.slug} ")
    found = LedgerEntry.objects.filter(about, cluster_id=run.cluster_id).select_related("who")
    return tuple(found.order_by("-seq")[:limit])


def hosts_of(state: RunState, uuids: Iterable[str]) -> list[str]:
    """Host names of those nodes of the pool; the uuid itself of one that is no longer in it."""
    names = {node.uuid: node.hostname for node in state.nodes}
    return sorted(names.get(uuid, uuid) for uuid in uuids)


def _living(state: RunState) -> QuerySet[Node]:
    return Node.objects.filter(pk__in=[node.uuid for node in state.nodes if not node.retired])


def _waived(state: RunState) -> dict[Layer, int]:
    """Fresh failures of nodes that a waiver in force accepts."""
    covered: Counter[Layer] = Counter()
    for waiver in state.waivers:
        rows = node_states(_living(state), now=state.now).filter(
            item=waiver.item, node__in=list(waiver.nodes), shown=Verdict.FAIL, severity=Severity.BLOCKER, shadow=False
        )
        covered[waiver.layer] += rows.count()
    return {layer: number for layer, number in covered.items() if number}


def _shown(one: SharedItem, state: RunState) -> Verdict:
    if one.row is None or one.row.item_version != one.item.version:
        return Verdict.UNKNOWN
    if is_stale(one.ends(state.interval), state.now):
        return Verdict.STALE
    raw = Verdict(one.row.raw)
    waived = any(waiver.covers(item=one.item.key, node="") for waiver in state.waivers)
    return Verdict.WAIVED if raw is Verdict.FAIL and waived else raw


def in_force(one: Override, *, now: datetime) -> bool:
    """Whether that override has neither ended by itself nor been taken back."""
    return one.at <= now < one.until and not hasattr(one, "end")
