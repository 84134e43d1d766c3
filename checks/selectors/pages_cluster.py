"""What the page of one cluster shows beside its matrix: the nodes and their places, and what is judged once for all."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias, TypedDict
from uuid import UUID

from django.db.models import CharField, Count, F, Func, Q, QuerySet, Value
from django.db.models.functions import Coalesce, NullIf

from checks.domain.freshness import is_stale
from checks.domain.verdicts import Scope, Verdict
from checks.models import Cluster, Node, ScopeState
from checks.selectors.pages_verdicts import live_nodes

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class _Placed(TypedDict):
        place: str

    PlacedNode: TypeAlias = WithAnnotations[Node, _Placed]
else:
    PlacedNode = Node

PlacedNodes: TypeAlias = "QuerySet[PlacedNode]"

# Beyond this a matrix of single nodes is neither readable nor small: it is counted by switch instead.
MAX_COLUMNS = 256


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One node as a column or a line."""

    id: UUID
    hostname: str
    switch: str
    rack: str

    place: str


@dataclass(frozen=True, slots=True)
class Place:
    """A switch, rack or row of names: how many nodes it has, and how many of them are *off*."""

    key: str
    nodes: int
    off: int


@dataclass(frozen=True, slots=True)
class SharedVerdict:
    """One item that the whole cluster holds, as it counts now."""

    item: str
    verdict: Verdict
    shadow: bool


def places_of(cluster: Cluster, off: Collection[str], *, place: str = "") -> tuple[Place, ...]:
    """The places in order; *off* are host names. One statement, its answer one row a place."""
    counted = nodes_at(cluster, place).order_by("place").values_list("place")
    return tuple(Place(*row) for row in counted.annotate(n=Count("id"), off=Count("id", filter=Q(hostname__in=off))))


def nodes_of(cluster: Cluster, *, place: str = "") -> tuple[ClusterNode, ...]:
    """The nodes by place, then name; only those of *place* where one is given."""
    fields = ("id", "hostname", "switch", "rack", "place")
    nodes = nodes_at(cluster, place).order_by("place", "hostname")
    return tuple(ClusterNode(*row) for row in nodes.values_list(*fields))


def shared_verdicts(cluster: Cluster, *, now: datetime) -> tuple[SharedVerdict, ...]:
    """Items of cluster scope, judged once for all nodes."""
    rows = ScopeState.objects.filter(cluster=cluster, scope=Scope.CLUSTER).order_by("layer", "item")
    return tuple(
        SharedVerdict(row.item, Verdict.STALE if is_stale(row.valid_until, now) else Verdict(row.raw), row.shadow)
        for row in rows
    )


def nodes_at(cluster: Cluster, place: str) -> PlacedNodes:
    """The nodes with ``place``: their switch, else their rack, else names alike but for the last two digits."""
    numbered = Value(r"(\d{1,2})?(\..*)?$")
    alike = Func(F("hostname"), numbered, Value("*"), function="regexp_replace", output_field=CharField())
    nodes = live_nodes(cluster).annotate(place=Coalesce(NullIf("switch", Value("")), NullIf("rack", Value("")), alike))
    return nodes.filter(place=place) if place else nodes
