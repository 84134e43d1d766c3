"""Read a price book from CSV, one row a price; the columns are those of ``Price``."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final

from checks.domain.cost.price_files import PricesInvalid
from checks.domain.cost.prices import Book, Price, PriceKind

_NEEDED: Final = frozenset({"kind", "region", "amount", "source"})
_KNOWN: Final = _NEEDED | {"currency", "destination", "sku", "from_gb", "to_gb", "as_of", "verified", "note"}


def read_price_csv(text: str, *, provider: str, name: str, as_of: date, source: str) -> Book:
    """The book in a CSV file; every mistake is named with its line.

    Raises:
        PricesInvalid
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    mistakes: list[str] = []
    rows: list[Price] = []
    try:
        _require_columns(set(reader.fieldnames or ()))
        for held in reader:
            try:
                rows.append(_row(_cells(held), provider, as_of))
            except ValueError as error:
                mistakes.append(f"line {reader.line_num}: {error}")
    except csv.Error as error:
        mistakes.append(f"line {reader.line_num}: no CSV: {error}")
    if mistakes:
        raise PricesInvalid(mistakes)
    return Book(provider=provider, name=name, as_of=as_of, source=source, rows=tuple(rows))


def _cells(held: Mapping[str | None, str | list[str] | None]) -> dict[str, str]:
    if None in held:
        raise ValueError("has more cells than the first line names columns")
    return {str(key): str(value or "").strip() for key, value in held.items()}


def _require_columns(held: set[str]) -> None:
    if missing := _NEEDED - held:
        raise PricesInvalid([f"The columns {', '.join(sorted(missing))} are missing; add them to the first line."])
    if unknown := held - _KNOWN:
        raise PricesInvalid([f"The columns {', '.join(sorted(unknown))} are not known; leave them out."])


def _row(held: Mapping[str, str], provider: str, as_of: date) -> Price:
    if held.get("currency", "USD") not in ("", "USD"):
        raise ValueError(f"is in {held['currency']!r}; give prices in USD")
    for key in ("region", "source"):
        if not held[key]:
            raise ValueError(f"{key} is empty")
    if held["kind"] not in set(PriceKind):
        raise ValueError(f"{held['kind']!r} is none of {', '.join(PriceKind)}")
    return Price(
        kind=PriceKind(held["kind"]), region=held["region"], amount=_number(held["amount"]), provider=provider,
        as_of=_day(held["as_of"]) if held.get("as_of") else as_of, source=held["source"],
        verified=held.get("verified", "").lower() in ("yes", "true"), destination=held.get("destination", ""),
        sku=held.get("sku", ""), from_gb=_number(held.get("from_gb") or "0"),
        to_gb=_number(held["to_gb"]) if held.get("to_gb") else None, note=held.get("note", ""),
    )  # fmt: skip


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no day; write it as 2026-11-30") from None


def _number(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no number") from None
    if not found.is_finite():
        raise ValueError(f"{text!r} is no number")
    return found
