"""The verdict a page shows for a stored row: *stale* is the clock's, made here in SQL and never stored."""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from django.db.models import Case, CharField, DateTimeField, F, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Greatest

from checks.domain.verdicts import RANK, ROLL_UP_ORDER, Reason, Verdict
from checks.models import Cluster, Node, NodeItemState

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class _Shown(TypedDict):
        shown: str
        rank: int
        measured_at: datetime | None
        good_until: datetime | None

    class _Ranked(TypedDict):
        rank: int

    ShownState: TypeAlias = WithAnnotations[NodeItemState, _Shown]
    RankedState: TypeAlias = WithAnnotations[NodeItemState, _Ranked]
else:
    # A row as it is shown now: with ``shown``, ``rank``, ``measured_at`` and ``good_until``.
    ShownState = RankedState = NodeItemState

# As the gate has it: whatever was measured too long ago is stale, a failure too. Only *na* does not age.
AGING = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.UNKNOWN)


# Unknown for these reasons is no news where it stops no health answer: each idle node is so until a start asks.
UNPROVED = (Reason.NEVER_MEASURED, Reason.NOT_LOADED)
# Until when the evidence of a cadence counts that renews itself with each full report.
_STAMPS = (("tick", "node__readiness__tick_until"), ("daily", "node__readiness__daily_until"))
WAITS = Q(raw=Verdict.UNKNOWN.value, reason__in=[reason.value for reason in UNPROVED], blocks__lt=2)


def node_states(nodes: QuerySet[Node], *, now: datetime) -> "QuerySet[ShownState]":
    """All rows of *nodes*, with ``shown`` (the verdict now), ``rank`` (0 is worst), ``measured_at`` and ``good_until``.

    The age of a row is the newer of its own and its cadence's stamp: only changed rows are written again.
    """
    return NodeItemState.objects.filter(node__in=nodes).annotate(
        measured_at=_measured_at(), good_until=_good_until(), shown=_shown(now), rank=_rank(now)
    )


def node_ranks(nodes: QuerySet[Node], *, now: datetime) -> "QuerySet[RankedState]":
    """All rows of *nodes* with ``rank`` alone: each annotation costs the more, the more rows there are."""
    return NodeItemState.objects.filter(node__in=nodes).annotate(rank=_rank(now)).order_by()


def cluster_ranks(clusters: Collection[Cluster], *, now: datetime) -> "QuerySet[RankedState]":
    """The same of the nodes of *clusters* that are not retired: the nodes are joined once, not twice."""
    rows = NodeItemState.objects.filter(node__cluster__in=clusters, node__retired_at=None)
    return rows.annotate(rank=_rank(now)).order_by()


def live_nodes(cluster: Cluster) -> QuerySet[Node]:
    """The cluster's nodes that are not retired."""
    return Node.objects.filter(cluster=cluster, retired_at=None)


def _measured_at() -> Case:
    return Case(
        When(observed_at=None, then=Value(None)),
        When(cadence="tick", then=Greatest("observed_at", "node__readiness__tick_at")),
        When(cadence="daily", then=Greatest("observed_at", "node__readiness__daily_at")),
        default=F("observed_at"),
        output_field=DateTimeField(),
    )


def _good_until() -> Case:
    return Case(
        When(cadence="tick", then=Greatest("valid_until", "node__readiness__tick_until")),
        When(cadence="daily", then=Greatest("valid_until", "node__readiness__daily_until")),
        default=F("valid_until"),
        output_field=DateTimeField(),
    )


def _shown(now: datetime) -> Case:
    return Case(When(_is_stale(now), then=Value(Verdict.STALE.value)), default=F("raw"), output_field=CharField())


def _rank(now: datetime) -> Case:
    """The clock is asked once a row, and a pass found first: 4,096 nodes have 600,000 rows, and most of them pass."""
    order = [When(raw=verdict.value, then=Value(RANK[verdict])) for verdict in reversed(ROLL_UP_ORDER)]
    unknown = Value(RANK[Verdict.UNKNOWN])
    return Case(
        When(_is_stale(now), then=Value(RANK[Verdict.STALE])), *order, default=unknown, output_field=IntegerField()
    )


def _is_stale(now: datetime) -> Q:
    """Measured, and too long ago; evidence of a cadence that renews itself and has no end is over, too."""
    measured = Q(observed_at__isnull=False, raw__in=AGING)
    ended = [
        Q(cadence=cadence)
        & (Q(valid_until=None) | Q(valid_until__lt=now))
        & (Q(**{f"{stamp}__isnull": True}) | Q(**{f"{stamp}__lt": now}))
        for cadence, stamp in _STAMPS
    ]
    others = ~Q(cadence__in=[cadence for cadence, _stamp in _STAMPS]) & Q(valid_until__lt=now)
    return measured & (ended[0] | ended[1] | others)
