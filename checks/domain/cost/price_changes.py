"""What differs between two price books of one provider."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from checks.domain.cost.prices import Book


@dataclass(frozen=True, slots=True)
class PriceChange:
    """One row that is new (``before`` None), gone (``after`` None) or priced otherwise."""

    row: str
    before: Decimal | None
    after: Decimal | None


def price_changes(before: Book | None, after: Book) -> tuple[PriceChange, ...]:
    """Every row whose price differs, in the order of names."""
    was = {row.name: row.amount for row in before.rows} if before is not None else {}
    now = {row.name: row.amount for row in after.rows}
    names = sorted(was.keys() | now.keys())
    return tuple(PriceChange(name, was.get(name), now.get(name)) for name in names if was.get(name) != now.get(name))
