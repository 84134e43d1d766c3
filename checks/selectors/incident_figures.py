"""What a cluster's incidents say together: how fast they are found and ended, what they cost, what no item sees."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.db import connection
from django.db.models import Exists, F, OuterRef, QuerySet, Sum

from checks.domain.incidents.kinds import SEEING, Relation, Standing
from checks.models import Incident, IncidentItemLink
from checks.selectors.incident_losses import money_of, with_losses

#: Figures are of the incidents that were detected within this time: what was slow years ago says little of now.
COUNTED: Final = timedelta(days=365)
#: The most lines of a list of blind spots.
MOST_BLIND: Final = 100


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds in the middle and at nine of ten; None where there is nothing to count."""

    median_s: float | None
    p90_s: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Incidents of some clusters in a year, without merged ones; *lost_s* is None where nobody said what stood."""

    incidents: int
    open: int
    recurred: int
    detect: Span
    stabilise: Span
    close: Span
    lost_s: int | None
    usd: Decimal | None

    @property
    def recurrence(self) -> float | None:
        """Share of incidents that came back, of one; None of none."""
        return self.recurred / self.incidents if self.incidents else None


@dataclass(frozen=True, slots=True)
class Learned:
    """What one item was to the incidents of a cluster; hours and money are those of the ones that escaped it."""

    caught: int
    escaped: int
    false_alarms: int
    related: int
    lost_s: int | None
    usd: Decimal | None
    incidents: tuple[Any, ...]


# The smallest span that at least half, and nine of ten, do not exceed: a mean would tell of one long night.
_SPANS: Final = """
    SELECT count(*), count(*) FILTER (WHERE standing = 'open'), count(*) FILTER (WHERE occurrences > 1),
        percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY EXTRACT(epoch FROM detected_at - started_at)),
        percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY EXTRACT(epoch FROM stable_at - detected_at)),
        percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY EXTRACT(epoch FROM closed_at - detected_at))
    FROM checks_incident WHERE cluster_id = ANY(%s) AND detected_at >= %s AND standing <> 'merged'
"""


def figures_of(clusters: Collection[int], *, now: datetime) -> Figures:
    """The figures of *clusters* (keys) over the last 365 days, in two statements."""
    with connection.cursor() as cursor:
        cursor.execute(_SPANS, [list(clusters), now - COUNTED])
        incidents, still_open, recurred, *spans = cursor.fetchone()
    lost_s, usd = _lost(_counted(clusters).filter(detected_at__gte=now - COUNTED), now)
    detect, stabilise, close = (_span(one) for one in spans)
    return Figures(incidents, still_open, recurred, detect, stabilise, close, lost_s, usd)


def blind_spots(clusters: Collection[int], *, now: datetime) -> QuerySet[Any]:
    """Incidents that no item caught, nor should have, by the GPU-hours that they lost; those without a figure last."""
    seen = IncidentItemLink.objects.filter(incident=OuterRef("pk"), relation__in=SEEING)
    found = with_losses(_counted(clusters).exclude(Exists(seen)), now=now).select_related("cluster", "run")
    return found.order_by(F("lost_s").desc(nulls_last=True), "-id")


def learned_about(cluster: int, item: str, *, now: datetime) -> Learned:
    """What *item* was to the incidents of one cluster, the newest first."""
    links = IncidentItemLink.objects.filter(item=item, incident__in=_counted([cluster]))
    relations = dict(links.values_list("incident", "relation"))
    counts = Counter(relations.values())
    rows = list(with_losses(Incident.objects.filter(pk__in=relations), now=now).order_by("-id")[:50])
    for row in rows:
        row.relation = relations[row.pk]
    escaped = [pk for pk, relation in relations.items() if relation == Relation.SHOULD_HAVE_CAUGHT]
    lost_s, usd = _lost(Incident.objects.filter(pk__in=escaped), now)
    return Learned(
        counts[Relation.CAUGHT], counts[Relation.SHOULD_HAVE_CAUGHT], counts[Relation.CAUSED_FALSE_ALARM],
        counts[Relation.RELATED], lost_s, usd, tuple(rows),
    )  # fmt: skip


def _counted(clusters: Collection[int]) -> QuerySet[Incident]:
    return Incident.objects.filter(cluster__in=list(clusters)).exclude(standing=Standing.MERGED)


def _lost(found: QuerySet[Incident], now: datetime) -> tuple[int | None, Decimal | None]:
    """GPU-seconds and money of *found*, by the price that each had on its day."""
    by_price = with_losses(found, now=now).order_by().values("usd_per_gpu_hour").annotate(sum=Sum("lost_s"))
    rows = list(by_price.values_list("sum", "usd_per_gpu_hour"))
    known = [lost for lost, _ in rows if lost is not None]
    return (sum(known) if known else None), money_of(rows)


def _span(found: Any) -> Span:
    middle, slow = found or (None, None)
    return Span(None if middle is None else float(middle), None if slow is None else float(slow))
