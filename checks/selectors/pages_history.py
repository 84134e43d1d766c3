"""What happened: verdicts that changed, times without evidence, and what people asked for. Newest first."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Max, Q, QuerySet

from checks.domain.verdicts import Verdict
from checks.models import Cluster, Flip, Gap, Node, RecheckRequest

# A pass of what has never settled is a node's first: no news beside the node itself. The index ``flip_news`` holds the
# others: a night of enrolment leaves a hundred first passes a node.
_NEWS = ~Q(raw=F("raw_before")) & ~Q(raw__in=[Verdict.PASS.value, Verdict.NA.value], settled_before="")


@dataclass(frozen=True, slots=True)
class FlipGroup:
    """One change of one item, on as many nodes as had it: a storm of 512 flips is one line."""

    cluster_id: int
    item: str
    before: str
    after: str
    at: datetime
    nodes: int
    hostname: str


@dataclass(frozen=True, slots=True)
class Enrolled:
    """Nodes that came into one cluster; *hostname* is one of them."""

    cluster_id: int
    nodes: int
    at: datetime
    hostname: str


@dataclass(frozen=True, slots=True)
class Since:
    """What changed after *start*; ``more`` flips of other kinds are not in the list."""

    start: datetime
    flips: tuple[FlipGroup, ...]
    gaps: tuple[Gap, ...]
    enrolled: tuple[Enrolled, ...]
    more: int


def since(clusters: Collection[Cluster], start: datetime, *, limit: int) -> Since:
    """Changes in *clusters* after *start*: three statements. A new node's first passes are no news beside it."""
    grouped = (
        Flip.objects.filter(_NEWS, cluster__in=clusters, at__gt=start)
        .values("cluster_id", "item", "raw_before", "raw")
        .annotate(last=Max("at"), nodes=Count("node", distinct=True), hostname=Max("node__hostname"))
        .order_by("-last")
    )
    groups = [
        FlipGroup(
            row["cluster_id"], row["item"], row["raw_before"], row["raw"], row["last"], row["nodes"], row["hostname"]
        )
        for row in grouped
    ]
    gaps = Gap.objects.filter(node__cluster__in=clusters, node__retired_at=None).filter(_touches(start))
    return Since(
        start, tuple(groups[:limit]), _newest(gaps, limit), _enrolled(clusters, start), max(0, len(groups) - limit)
    )


def _enrolled(clusters: Collection[Cluster], start: datetime) -> tuple[Enrolled, ...]:
    nodes = Node.objects.filter(cluster__in=clusters, retired_at=None, enrolled_at__gt=start)
    counted = nodes.values_list("cluster_id").annotate(n=Count("id"), at=Max("enrolled_at"), hostname=Max("hostname"))
    return tuple(Enrolled(*row) for row in counted.order_by("cluster_id"))


def flips_of(node: Node, *, item: str = "", limit: int) -> tuple[Flip, ...]:
    """Changes of raw or settled verdict on *node*, of one item where it is given."""
    flips = Flip.objects.filter(node=node)
    return tuple((flips.filter(item=item) if item else flips).order_by("-at")[:limit])


def gaps_of(node: Node, *, cadences: Collection[str], limit: int) -> tuple[Gap, ...]:
    """Times without evidence of those cadences."""
    return _newest(Gap.objects.filter(node=node, cadence__in=cadences), limit)


def rechecks_of(node: Node, *, item: str = "", limit: int) -> tuple[RecheckRequest, ...]:
    """Re-checks that people asked for, of one item where it is given; the schedule's own are left out."""
    asked = RecheckRequest.objects.filter(node=node, requested_by__isnull=False).select_related("requested_by")
    return tuple((asked.filter(items__contains=item) if item else asked).order_by("-requested_at")[:limit])


def _touches(start: datetime) -> Q:
    return Q(started_at__gt=start) | Q(ended_at__gt=start) | Q(ended_at=None)


def _newest(gaps: QuerySet[Gap], limit: int) -> tuple[Gap, ...]:
    return tuple(gaps.select_related("node").order_by("-started_at")[:limit])
