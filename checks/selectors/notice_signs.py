"""Whether messages reach those they are meant for: what waits, and which destinations refuse."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Max, Min, Q

from checks.models import Notice
from checks.selectors.signs import State

#: A destination that refused for longer than this is red.
TOO_LONG: Final = timedelta(hours=1)
_LATELY: Final = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class NoticeSign:
    """One destination (``mail`` is people's): how many messages wait for it or were given up, and the last refusal."""

    place: str
    state: State
    waiting: int
    given_up: int
    error: str


def notice_signs(*, now: datetime) -> tuple[NoticeSign, ...]:
    """Destinations that refused something that still waits, or that was given up lately; one statement."""
    refused = Notice.objects.exclude(error="").filter(sent_at=None).order_by()
    refused = refused.filter(Q(given_up_at=None) | Q(given_up_at__gt=now - _LATELY))
    rows = refused.values("place").annotate(
        waiting=Count("pk", filter=Q(given_up_at=None)),
        given_up=Count("pk", filter=Q(given_up_at__isnull=False)),
        since=Min("created_at"),
        error=Max("error"),
    )
    return tuple(
        NoticeSign(
            place=row["place"] or "mail",
            state=State.RED if now - row["since"] > TOO_LONG else State.AMBER,
            waiting=row["waiting"],
            given_up=row["given_up"],
            error=row["error"],
        )
        for row in rows.order_by("place")
    )
