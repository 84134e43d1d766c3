"""What the page of one item over all nodes of a cluster shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Aggregate, Count, FloatField, Max, Min, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from checks.domain.verdicts import ROLL_UP_ORDER, Verdict
from checks.models import Cluster, NodeItemState
from checks.selectors.pages_verdicts import ShownState, live_nodes, node_states


class _Median(Aggregate):
    """PostgreSQL's continuous median."""

    function = "percentile_cont"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


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


def item_rows(cluster: Cluster, item: str, *, now: datetime) -> QuerySet[ShownState]:
    """One item's rows over the cluster's nodes, worst first; sliced by the caller."""
    rows = node_states(live_nodes(cluster), now=now).filter(item=item)
    return rows.select_related("node").order_by("rank", "node__hostname", "subject")


def item_counts(cluster: Cluster, item: str, *, now: datetime) -> ItemCounts:
    """How many nodes show which verdict: one statement, its answer one row a node at most."""
    rows = node_states(live_nodes(cluster), now=now).filter(item=item)
    worst = rows.order_by().values("node_id").annotate(worst=Min("rank")).values_list("worst", flat=True)
    counts = dict.fromkeys(ROLL_UP_ORDER, 0)
    for rank in worst:
        counts[ROLL_UP_ORDER[rank]] += 1
    return ItemCounts({verdict: number for verdict, number in counts.items() if number})


def spread_of(cluster: Cluster, item: str, fact: str) -> Spread | None:
    """How the values of *fact* spread over the cluster; None when no node has a number there."""
    numeric = NodeItemState.objects.filter(
        node__in=live_nodes(cluster), item=item, **{f"value__facts__{fact}__regex": r"^-?[0-9.]+([eE][-+]?[0-9]+)?$"}
    )
    found = numeric.annotate(number=Cast(KT(f"value__facts__{fact}"), FloatField())).aggregate(
        least=Min("number"), middle=_Median("number"), greatest=Max("number"), values=Count("number")
    )
    return Spread(**found) if found["values"] else None
