"""The verdict a page shows for a stored row: *stale* is the clock's, made here in SQL and never stored."""

from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from django.db.models import Case, CharField, DateTimeField, F, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Greatest

from checks.domain.verdicts import ROLL_UP_ORDER, Reason, Verdict
from checks.models import Cluster, Node, NodeItemState

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class _Shown(TypedDict):
        shown: str
        rank: int
        measured_at: datetime | None
        good_until: datetime | None

    ShownState: TypeAlias = WithAnnotations[NodeItemState, _Shown]
else:
    # A row as it is shown now: with ``shown``, ``rank``, ``measured_at`` and ``good_until``.
    ShownState = NodeItemState

# As the gate has it: whatever was measured too long ago is stale, a failure too. Only *na* does not age.
AGING = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.UNKNOWN)


# Unknown for these reasons is no news where it stops no health answer: each idle node is so until a start asks.
UNPROVED = (Reason.NEVER_MEASURED, Reason.NOT_LOADED)
WAITS = Q(raw=Verdict.UNKNOWN.value, reason__in=[reason.value for reason in UNPROVED], blocks__lt=2)


def node_states(nodes: QuerySet[Node], *, now: datetime) -> "QuerySet[ShownState]":
    """All rows of *nodes*, with ``shown`` (the verdict now), ``rank`` (0 is worst), ``measured_at`` and ``good_until``.

    The age of a row is the newer of its own and its cadence's stamp: only changed rows are written again.
    """
    return (
        NodeItemState.objects.filter(node__in=nodes)
        .annotate(measured_at=_measured_at(), good_until=_good_until())
        .annotate(shown=_shown(now))
        .annotate(rank=_rank())
    )


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
    ended = Q(good_until__lt=now) | (Q(good_until=None) & Q(cadence__in=["tick", "daily"]))
    return Case(
        When(ended & Q(raw__in=AGING) & Q(observed_at__isnull=False), then=Value(Verdict.STALE.value)),
        default=F("raw"),
        output_field=CharField(),
    )


def _rank() -> Case:
    order = [When(shown=verdict.value, then=Value(rank)) for rank, verdict in enumerate(ROLL_UP_ORDER)]
    return Case(*order, default=Value(1), output_field=IntegerField())
