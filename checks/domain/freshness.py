"""How long a measurement counts. Staleness is never stored: it is asked with the clock of the question."""

from __future__ import annotations

from datetime import datetime, timedelta

from checks.domain.items import Item
from checks.domain.verdicts import Cadence

#: A tick counts for three intervals: two reports may be lost before a node is stale.
_TICK_INTERVALS = 3

_VALID_FOR = {
    Cadence.DAILY: timedelta(hours=36),
    Cadence.OFFLINE: timedelta(days=7),
    Cadence.ATTESTED: timedelta(days=30),
    Cadence.START: timedelta(minutes=15),
}


def stale_after(cadence: Cadence, interval: timedelta, item: Item | None = None) -> timedelta | None:
    """How long evidence of *cadence* counts where a node reports each *interval*; *item* may state its own time.

    ``None`` for the cadence *run*: it counts for the run that it was measured for, however long that takes.
    """
    if item is not None and item.valid_for is not None:
        return item.valid_for
    return interval * _TICK_INTERVALS if cadence is Cadence.TICK else _VALID_FOR.get(cadence)


def valid_until(
    observed_at: datetime, cadence: Cadence, interval: timedelta, item: Item | None = None
) -> datetime | None:
    """The last moment at which evidence of *observed_at* counts; none where it does not age."""
    limit = stale_after(cadence, interval, item)
    return None if limit is None else observed_at + limit


def is_stale(until: datetime | None, now: datetime) -> bool:
    """Whether evidence that counts until *until* has ended: at that very moment it still counts, then no more."""
    return until is not None and now > until
