"""Whether somebody looked at the chain lately, what they found, and whether its head is known outside."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from checks.models import LedgerEntry, LedgerWatch
from checks.selectors.signs import State

#: The name of the look at the chain among `LedgerWatch` rows; the others are places.
CHAIN: Final = "chain"
#: The place of anchors where LEDGER_ANCHORS names none: it holds against whoever cannot sign, not against removal.
IN_THE_DATABASE: Final = "database"
#: Both are due each night; one that failed for longer than this is red.
TOO_OLD: Final = timedelta(hours=36)
_WRONG: Final = {LedgerWatch.Outcome.BROKEN, LedgerWatch.Outcome.ROLLED_BACK}


@dataclass(frozen=True, slots=True)
class LedgerSign:
    """One thing that is watched: the chain, or a place of anchors.

    *outcome* is that of the last time, "" when there was none; *good_at* when it last went well; *detail* for people.
    """

    name: str
    state: State
    outcome: str
    good_at: datetime | None
    detail: str


def places() -> tuple[str, ...]:
    """Where anchors are told: LEDGER_ANCHORS, or the database alone."""
    return tuple(settings.LEDGER_ANCHORS) or (IN_THE_DATABASE,)


def ledger_signs(*, now: datetime) -> tuple[LedgerSign, ...]:
    """The chain, then each place: one statement, and one more until everything was watched once."""
    rows = {row.name: row for row in LedgerWatch.objects.all()}
    names = (CHAIN, *places())
    begun = _begun() if any(name not in rows or rows[name].good_at is None for name in names) else None
    return tuple(_sign(name, rows.get(name), begun, now=now) for name in names)


def _begun() -> datetime | None:
    """Since when there is something to watch."""
    return LedgerEntry.objects.order_by("seq").values_list("at", flat=True).first()


def _sign(name: str, row: LedgerWatch | None, begun: datetime | None, *, now: datetime) -> LedgerSign:
    good_at = row.good_at if row else None
    since = good_at or begun
    if (row and row.outcome in _WRONG) or (since and now - since > TOO_OLD):
        state = State.RED
    else:
        state = State.AMBER if row and row.outcome != LedgerWatch.Outcome.OK else State.OK
    return LedgerSign(name, state, row.outcome if row else "", good_at, row.detail if row else "")
