"""What is suspicious in a price book, before it prices anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final

from checks.domain.cost.prices import Book, Price, PriceKind
from checks.domain.cost.tiers import gap_in

#: Spot below this share of on-demand looks like a floor price that nobody sells at.
LEAST_SPOT_SHARE: Final = Decimal("0.12")
#: A price that moved by more than this has to be confirmed.
MOST_CHANGE: Final = Decimal("0.30")
#: US dollars a GPU hour that no data-centre GPU costs.
GPU_HOUR: Final = (Decimal("0.10"), Decimal(50))

#: As wide as the column that keeps an amount.
DECIMALS: Final = 6
MOST_USD: Final = Decimal(10) ** 6

_HIRE: Final = frozenset({PriceKind.GPU_HOUR, PriceKind.SPOT_HOUR})


class Weight(StrEnum):
    """What a finding does to an import."""

    REFUSED = "refused"
    CONFIRM = "confirm"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or odd, and the row it is about."""

    weight: Weight
    row: str
    message: str

    def __str__(self) -> str:
        return f"{self.weight.value}: {self.row}: {self.message}"


def findings(book: Book, before: Book | None, *, today: date) -> tuple[Finding, ...]:
    """Everything that is odd in *book*, also against the provider's book *before* it."""
    found = [*_of_book(book, today), *_of_tiers(book), *_of_spot(book)]
    for row in book.rows:
        found.extend(_of_row(row, today))
    if before is not None:
        found.extend(_of_changes(book, before))
    return tuple(sorted(found, key=lambda one: list(Weight).index(one.weight)))


def _of_book(book: Book, today: date) -> Iterator[Finding]:
    if not book.rows:
        yield Finding(Weight.REFUSED, book.name, "holds no row; give at least one price.")
    for name, count in Counter(row.name for row in book.rows).items():
        if count > 1:
            yield Finding(Weight.REFUSED, name, f"is there {count} times; keep one.")
    if book.as_of > today:
        yield Finding(Weight.REFUSED, book.name, f"is dated {book.as_of}, which is yet to come; give the true day.")
    elif book.is_aged(today):
        yield Finding(Weight.WARNING, book.name, f"is of {book.as_of}, over 90 days ago; look the prices up again.")


def _of_row(row: Price, today: date) -> Iterator[Finding]:
    if row.amount < 0 or (row.amount == 0 and row.kind is not PriceKind.EGRESS_TIER):
        yield Finding(Weight.REFUSED, row.name, f"costs {row.amount}; give a price above 0.")
    elif row.amount >= MOST_USD or row.amount != round(row.amount, DECIMALS):
        yield Finding(Weight.REFUSED, row.name, f"costs {row.amount}; give less than 1e6, {DECIMALS} decimals.")
    elif row.kind in _HIRE and not GPU_HOUR[0] <= row.amount <= GPU_HOUR[1]:
        yield Finding(Weight.CONFIRM, row.name, f"costs {row.amount} USD a GPU hour; is it the price of one GPU?")
    if row.as_of > today:
        yield Finding(Weight.REFUSED, row.name, f"is dated {row.as_of}, which is yet to come; give the true day.")
    if not row.verified:
        yield Finding(Weight.WARNING, row.name, "is not verified; estimates that use it say so.")


def _of_tiers(book: Book) -> Iterator[Finding]:
    ways = {(row.region, row.destination) for row in book.of(PriceKind.EGRESS_TIER)}
    for region, destination in sorted(ways):
        gap = gap_in(book.tiers(region=region, destination=destination))
        if gap is not None:
            message = f"its tiers do not meet at {gap} GB; each GB from 0 on needs exactly one price."
            yield Finding(Weight.REFUSED, f"{region} {destination}", message)


def _of_spot(book: Book) -> Iterator[Finding]:
    own = {(row.region, row.sku): row.amount for row in book.of(PriceKind.GPU_HOUR)}
    for row in book.of(PriceKind.SPOT_HOUR):
        on_demand = own.get((row.region, row.sku))
        if on_demand is None or on_demand <= 0:
            continue
        if row.amount >= on_demand:
            yield Finding(Weight.WARNING, row.name, "costs no less than on-demand: a limit, or no pool; not an offer.")
        elif row.amount / on_demand < LEAST_SPOT_SHARE:
            yield Finding(Weight.WARNING, row.name, "costs less than 12 % of on-demand: a floor price that few get.")


def _of_changes(book: Book, before: Book) -> Iterator[Finding]:
    was = {row.name: row.amount for row in before.rows}
    for row in book.rows:
        old = was.get(row.name)
        if old and abs(row.amount - old) / old > MOST_CHANGE:
            percent = (row.amount - old) / old * 100
            yield Finding(Weight.CONFIRM, row.name, f"changes from {old:f} to {row.amount:f} ({percent:+.0f} %).")
