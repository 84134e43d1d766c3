"""What the page of one cluster shows: the matrix of items and nodes, and the nodes with something to say."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias, TypedDict
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, CharField, F, Func, IntegerField, Min, QuerySet, Value, When
from django.db.models.functions import Coalesce, NullIf

from checks.domain.verdicts import ROLL_UP_ORDER, Verdict
from checks.models import Cluster, Node, ScopeState
from checks.selectors.pages_verdicts import WAITS, live_nodes, node_states

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class _Placed(TypedDict):
        place: str

    PlacedNode: TypeAlias = WithAnnotations[Node, _Placed]
else:
    PlacedNode = Node

# Beyond this a matrix of single nodes is neither readable nor small: it is counted by switch instead.
MAX_COLUMNS = 256
UNPROVED_RANK = len(ROLL_UP_ORDER)


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One item over all columns: which columns show which verdict, and how many nodes that is in each."""

    item: str
    # verdict -> column key -> nodes of that column with it
    nodes: Mapping[Verdict, Mapping[str, int]]
    # Nodes on which it is not proved yet, where that stops no health answer: unknown, but no news.
    unproved: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One node as a column or a line."""

    id: UUID
    hostname: str
    switch: str
    rack: str

    place: str


def nodes_of(cluster: Cluster, *, place: str = "") -> tuple[ClusterNode, ...]:
    """The nodes by place, then name; only those of *place* where one is given."""
    fields = ("id", "hostname", "switch", "rack", "place")
    return tuple(ClusterNode(*row) for row in _at(cluster, place).order_by("place", "hostname").values_list(*fields))


def node_matrix(cluster: Cluster, *, place: str = "", now: datetime) -> tuple[MatrixRow, ...]:
    """Worst verdict of each (item, node), keyed by hostname."""
    return tuple(_rows(_counted(_at(cluster, place), "hostname", now=now)))


def place_matrix(cluster: Cluster, *, now: datetime) -> tuple[MatrixRow, ...]:
    """Worst verdict of each (item, node), counted by place: the answer grows with the places, not the nodes."""
    return tuple(_rows(_counted(_at(cluster, ""), "place", now=now)))


def fold_by_place(rows: Iterable[MatrixRow], nodes: Iterable[ClusterNode]) -> tuple[MatrixRow, ...]:
    """A matrix of single nodes, counted by their places."""
    places = {node.hostname: node.place for node in nodes}
    return tuple(
        MatrixRow(
            row.item,
            {verdict: _folded(held, places) for verdict, held in row.nodes.items()},
            _folded(row.unproved, places),
        )
        for row in rows
    )


def shared_states(cluster: Cluster) -> tuple[ScopeState, ...]:
    """Items of cluster scope, judged once for all nodes."""
    return tuple(ScopeState.objects.filter(cluster=cluster, scope="cluster").order_by("layer", "item"))


def _folded(held: Mapping[str, int], places: Mapping[str, str]) -> dict[str, int]:
    return dict(Counter(places[hostname] for hostname in held if hostname in places))


def _at(cluster: Cluster, place: str) -> "QuerySet[PlacedNode]":
    """The nodes with ``place``: their switch, else their rack, else names alike but for the last two digits."""
    numbered = Value(r"(\d{1,2})?(\..*)?$")
    alike = Func(F("hostname"), numbered, Value("*"), function="regexp_replace", output_field=CharField())
    nodes = live_nodes(cluster).annotate(place=Coalesce(NullIf("switch", Value("")), NullIf("rack", Value("")), alike))
    return nodes.filter(place=place) if place else nodes


def _counted(nodes: "QuerySet[PlacedNode]", column: str, *, now: datetime) -> list[tuple[str, int, str, int]]:
    """(item, rank, column, nodes): a node counts once an item, with its worst subject."""
    worst = node_states(nodes, now=now).values("item", "node_id").annotate(worst=Min(_quiet_rank())).order_by()
    rows, row_values = worst.query.sql_with_params()
    keys, key_values = nodes.order_by().values("id", column).query.sql_with_params()
    statement = f"""
        SELECT s.item, s.worst, n.{column}, count(*)
        FROM ({rows}) s JOIN ({keys}) n ON n.id = s.node_id
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    """  # noqa: S608  (column is one of two names above; the inner statements carry their values)
    with transaction.atomic(), connection.cursor() as cursor:
        # 4,096 nodes have 180,000 groups: with PostgreSQL's 4 MB they are sorted on disk, at three times the cost.
        cursor.execute("SET LOCAL work_mem = '64MB'")
        cursor.execute(statement, (*row_values, *key_values))
        return list(cursor.fetchall())


def _quiet_rank() -> Case:
    """The rank, but for what is not proved yet and stops no health answer: that weighs least of all."""
    return Case(When(WAITS, then=Value(UNPROVED_RANK)), default=F("rank"), output_field=IntegerField())


def _rows(counted: list[tuple[str, int, str, int]]) -> Iterator[MatrixRow]:
    found: dict[str, dict[int, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for item, rank, column, nodes in counted:
        found[item][rank][column] = nodes
    for item, by_rank in found.items():
        unproved = by_rank.pop(UNPROVED_RANK, {})
        yield MatrixRow(item, {ROLL_UP_ORDER[rank]: nodes for rank, nodes in by_rank.items()}, unproved)
