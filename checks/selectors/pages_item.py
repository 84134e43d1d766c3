"""What the page of one item over all nodes of a cluster shows."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import F, JSONField, QuerySet, Value

from checks.domain.verdicts import RANK, ROLL_UP_ORDER, Verdict
from checks.models import Cluster, Node
from checks.selectors.pages_verdicts import ShownState, cluster_ranks, node_states


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """Nodes by the worst verdict of their subjects."""

    nodes: Mapping[Verdict, int]

    @property
    def total(self) -> int:
        """Nodes that have a row of the item."""
        return sum(self.nodes.values())

    @property
    def passing(self) -> int:
        """Nodes on which every subject passes."""
        return self.nodes.get(Verdict.PASS, 0)


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, middle and greatest value of one numeric fact over all subjects that have one."""

    least: float
    middle: float
    greatest: float
    values: int


@dataclass(frozen=True, slots=True)
class ItemOverNodes:
    """One item over all nodes of a cluster.

    *ranks* holds for each node's id, worst first and then by name, one bit for each verdict that a subject of it shows.
    """

    ranks: Mapping[str, int]
    spread: Spread | None

    @property
    def counts(self) -> ItemCounts:
        """Nodes by the worst verdict of their subjects."""
        worst = Counter(_worst(bits) for bits in self.ranks.values())
        return ItemCounts({verdict: worst[rank] for rank, verdict in enumerate(ROLL_UP_ORDER) if worst[rank]})

    def nodes(self, only: Verdict | None) -> list[str]:
        """The nodes in order; those that show *only* where it is given."""
        if only is None:
            return list(self.ranks)
        return [node for node, bits in self.ranks.items() if bits >> RANK[only] & 1]


def item_over_nodes(cluster: Cluster, item: str, fact: str, *, now: datetime) -> ItemOverNodes:
    """The verdicts of *item* on every node, and how the values of *fact* spread (none where it is empty).

    One statement, one look at each row: 4,096 nodes of eight GPUs have 32,768 of them.
    """
    number = F(f"value__facts__{fact}") if fact else Value(None, output_field=JSONField())
    rows = cluster_ranks([cluster], now=now).filter(item=item).annotate(number=number)
    inner, values = rows.values("node_id", "rank", "number").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_OVER_NODES.format(rows=inner), values)
        found, *spread = cursor.fetchone()
    return ItemOverNodes(dict(found or ()), Spread(*spread) if spread[3] else None)


def item_counts(cluster: Cluster, item: str, *, now: datetime) -> ItemCounts:
    """How many nodes show which verdict: one statement."""
    return item_over_nodes(cluster, item, "", now=now).counts


def item_rows(nodes: Collection[str], item: str, *, only: Verdict | None, now: datetime) -> QuerySet[ShownState]:
    """The item's rows on *nodes*, worst first; those that show *only* where it is given."""
    rows = node_states(Node.objects.filter(id__in=nodes), now=now).filter(item=item)
    rows = rows if only is None else rows.filter(shown=only.value)
    return rows.select_related("node").defer("facts", "identity").order_by("rank", "node__hostname", "subject")


# A fact is a number, or a text such as "unlimited", which no spread knows.
_OVER_NODES = """
    WITH seen AS MATERIALIZED (
        SELECT r.node_id, r.rank,
            CASE WHEN jsonb_typeof(r.number) = 'number' THEN r.number::float8 END AS number
        FROM ({rows}) r
    )
    SELECT
        (SELECT json_agg(json_build_array(n.id, w.bits) ORDER BY w.bits & -w.bits, n.hostname) FROM (
            SELECT node_id, bit_or(1 << rank) AS bits FROM seen GROUP BY node_id
        ) AS w JOIN checks_node n ON n.id = w.node_id),
        min(number), percentile_cont(0.5) WITHIN GROUP (ORDER BY number), max(number), count(number)
    FROM seen
"""


def _worst(bits: int) -> int:
    """The place of the lowest bit: ranks are counted from the worst."""
    return (bits & -bits).bit_length() - 1
