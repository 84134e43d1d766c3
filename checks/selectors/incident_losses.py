"""What incidents have lost so far, worked out by the database: of one as of a hundred thousand."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import BigIntegerField, DateTimeField, DurationField, ExpressionWrapper, F, QuerySet, Value
from django.db.models.functions import Cast, Coalesce, Extract

from checks.domain.incidents.losses import money_lost
from checks.models import Incident


def with_losses(found: QuerySet[Incident], *, now: datetime) -> QuerySet[Any]:
    """*found* with ``lost_s``: GPU-seconds lost, None where nobody said how many GPUs stood still.

    GPUs x (time from start to stable, or to *now*, + work to be done again), or what somebody told instead; and what
    earlier occurrences of the same trouble had lost.
    """
    ended = Coalesce("stable_at", Value(now, output_field=DateTimeField()))
    still = Cast(Extract(ExpressionWrapper(ended - F("started_at"), DurationField()), "epoch"), BigIntegerField())
    worked_out = F("gpus_affected") * (still + F("lost_work_s"))
    own = Coalesce("told_gpu_seconds", ExpressionWrapper(worked_out, BigIntegerField()))
    return found.annotate(lost_s=ExpressionWrapper(own + F("carried_gpu_seconds"), BigIntegerField()))


def money_of(rows: Iterable[tuple[int | None, Decimal | None]]) -> Decimal | None:
    """US dollars of several incidents: (GPU-seconds, US dollars a GPU hour); None where none of them has both."""
    sums = [money for lost, price in rows if (money := money_lost(lost, price)) is not None]
    return sum(sums, Decimal(0)) if sums else None
