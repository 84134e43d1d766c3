"""Nodes with something to say, worst first, each with its worst row."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q

from checks.domain.items import Item
from checks.domain.verdicts import RANK, ROLL_UP_ORDER, Cadence, Verdict
from checks.models import Node
from checks.selectors.pages_matrix import NodeVerdicts
from checks.selectors.pages_verdicts import WAITS, ShownState, node_states

# What has something to say; a pass and an item that does not apply have not.
SPEAKING = tuple(verdict for verdict in ROLL_UP_ORDER if verdict not in (Verdict.PASS, Verdict.NA))
# Evidence of other cadences is as old as it may be: until a start asks for it, that is no news.
_ALWAYS_FRESH = (Cadence.TICK, Cadence.DAILY)


@dataclass(frozen=True, slots=True)
class NodeLine:
    """One node: items by verdict, and the row that weighs most.

    A machine that is not believed is one thing more that is unknown, and may have no such row.
    """

    node: Node
    counts: Mapping[Verdict, int]
    row: ShownState | None


@dataclass(frozen=True, slots=True)
class WorstNodes:
    """The first lines, and how many nodes there are to say something of."""

    lines: tuple[NodeLine, ...]
    total: int


def worst_nodes(verdicts: NodeVerdicts, items: Mapping[str, Item], *, limit: int, now: datetime) -> WorstNodes:
    """Nodes of *verdicts* whose live (not shadow) items do not all pass: three statements, whatever their number."""
    live = [item for item in items.values() if not item.shadow]
    keys = [item.key for item in live]
    fresh = [item.key for item in live if item.cadence in _ALWAYS_FRESH]
    counts = verdicts.counts({verdict: fresh if verdict is Verdict.STALE else keys for verdict in SPEAKING})
    for node_id in Node.objects.filter(id__in=list(verdicts.bits)).exclude(trouble="").values_list("id", flat=True):
        held = counts.setdefault(node_id, {})
        held[Verdict.UNKNOWN] = held.get(Verdict.UNKNOWN, 0) + 1
    weight = {node_id: [-held.get(verdict, 0) for verdict in SPEAKING] for node_id, held in counts.items()}
    # Equals by their key, so that the same ones are cut off each time.
    order = sorted(counts, key=lambda node_id: (weight[node_id], node_id))[:limit]
    shown = {node.id: node for node in Node.objects.filter(id__in=order).select_related("readiness")}
    rows = _worst_rows(list(shown), now=now)
    lines = [NodeLine(shown[key], counts[key], rows.get(key)) for key in order if key in shown]
    return WorstNodes(tuple(sorted(lines, key=lambda line: (weight[line.node.id], line.node.hostname))), len(counts))


def _worst_rows(node_ids: list[UUID], *, now: datetime) -> dict[UUID, ShownState]:
    rows = node_states(Node.objects.filter(id__in=node_ids), now=now)
    idle = Q(rank=RANK[Verdict.STALE]) & ~Q(cadence__in=[cadence.value for cadence in _ALWAYS_FRESH])
    speaking = rows.filter(shadow=False, rank__lt=RANK[Verdict.PASS]).exclude(idle).exclude(WAITS)
    first = speaking.order_by("node_id", F("blocks").desc(), "rank", "since", "item", "subject").distinct("node_id")
    return {row.node_id: row for row in first}
