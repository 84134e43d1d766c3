"""Nodes with something to say, worst first, each with its worst row."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from checks.domain.verdicts import ROLL_UP_ORDER, Cadence, Verdict
from checks.models import Node
from checks.selectors.pages_verdicts import WAITS, ShownState, node_states

# What has something to say; a pass and an item that does not apply have not.
SPEAKING = tuple(verdict for verdict in ROLL_UP_ORDER if verdict not in (Verdict.PASS, Verdict.NA))


@dataclass(frozen=True, slots=True)
class NodeLine:
    """One node: items by verdict, and the row that weighs most."""

    node: Node
    counts: Mapping[Verdict, int]
    row: ShownState


@dataclass(frozen=True, slots=True)
class WorstNodes:
    """The first lines, and how many nodes there are to say something of."""

    lines: tuple[NodeLine, ...]
    total: int


def worst_nodes(nodes: QuerySet[Node], *, limit: int, now: datetime) -> WorstNodes:
    """Nodes of *nodes* whose live (not shadow) items do not all pass: three statements, whatever their number."""
    counts = _counts(nodes, now=now)
    weight = {node_id: [-held.get(verdict, 0) for verdict in SPEAKING] for node_id, held in counts.items()}
    # Equals by their key, so that the same ones are cut off each time.
    order = sorted(counts, key=lambda node_id: (weight[node_id], node_id))[:limit]
    shown = {node.id: node for node in Node.objects.filter(id__in=order).select_related("readiness")}
    rows = _worst_rows(list(shown), now=now)
    lines = [NodeLine(shown[key], counts[key], rows[key]) for key in order if key in rows]
    return WorstNodes(tuple(sorted(lines, key=lambda line: (weight[line.node.id], line.node.hostname))), len(counts))


def _counts(nodes: QuerySet[Node], *, now: datetime) -> dict[UUID, dict[Verdict, int]]:
    counted = (
        _speaking(nodes, now=now).values_list("node_id", "shown").annotate(n=Count("item", distinct=True)).order_by()
    )
    found: dict[UUID, dict[Verdict, int]] = defaultdict(dict)
    for node_id, shown, number in counted:
        found[node_id][Verdict(shown)] = number
    return found


def _worst_rows(node_ids: list[UUID], *, now: datetime) -> dict[UUID, ShownState]:
    rows = _speaking(Node.objects.filter(id__in=node_ids), now=now)
    first = rows.order_by("node_id", F("blocks").desc(), "rank", "since", "item", "subject").distinct("node_id")
    return {row.node_id: row for row in first}


def _speaking(nodes: QuerySet[Node], *, now: datetime) -> QuerySet[ShownState]:
    """Rows that say something: not what waits for a start to ask for it, of which each node has some."""
    rows = node_states(nodes, now=now).filter(shadow=False, shown__in=SPEAKING)
    idle = Q(shown=Verdict.STALE.value) & ~Q(cadence__in=[Cadence.TICK.value, Cadence.DAILY.value])
    return rows.exclude(idle).exclude(WAITS)
