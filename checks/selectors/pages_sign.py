"""The evidence of one layer of a run, item by item: what a signer looks at."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min

from checks.domain.freshness import is_stale
from checks.domain.verdicts import RANK, ROLL_UP_ORDER, Cadence, Layer, Severity, Verdict
from checks.models import Node
from checks.selectors.packages import RunState
from checks.selectors.pages_verdicts import node_states
from checks.selectors.shared_rows import SharedItem


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one blocker shows over the pool, or as such where it is no node's (``nodes`` is then 0)."""

    item: str
    counts: Mapping[Verdict, int]
    nodes: int
    observed_at: datetime | None

    @property
    def worst(self) -> Verdict:
        """The worst that any row shows."""
        return min(self.counts, key=RANK.__getitem__)


def evidence_of(state: RunState, layer: Layer) -> tuple[Evidence, ...]:
    """Every blocker of *layer*, worst first and then by name; one statement over the rows, grouped."""
    living = Node.objects.filter(pk__in=[node.uuid for node in state.nodes if not node.retired])
    rows = node_states(living, now=state.now).filter(layer=layer, severity=Severity.BLOCKER, shadow=False)
    grouped = rows.exclude(cadence=Cadence.START).order_by().values("item", "shown").annotate(
        rows=Count("*"), nodes=Count("node", distinct=True), oldest=Min("measured_at")
    )  # fmt: skip
    by_item: dict[str, list[Mapping[str, object]]] = {}
    for group in grouped:
        by_item.setdefault(group["item"], []).append(group)
    found = [_of_nodes(item, groups) for item, groups in by_item.items()]
    found += [_shared(one, state) for one in state.shared if one.item.layer is layer]
    return tuple(sorted(found, key=lambda one: (RANK[one.worst], one.item)))


def _of_nodes(item: str, groups: list[Mapping[str, object]]) -> Evidence:
    counts = {Verdict(str(group["shown"])): int(str(group["rows"])) for group in groups}
    ages = [group["oldest"] for group in groups if isinstance(group["oldest"], datetime)]
    return Evidence(
        item,
        {verdict: counts[verdict] for verdict in ROLL_UP_ORDER if verdict in counts},
        max(int(str(group["nodes"])) for group in groups),
        min(ages, default=None),
    )


def _shared(one: SharedItem, state: RunState) -> Evidence:
    row = one.row
    if row is None or row.item_version != one.item.version:
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.STALE if is_stale(one.ends(state.interval), state.now) else Verdict(row.raw)
    return Evidence(one.item.key, {verdict: 1}, 0, row.observed_at if row else None)
