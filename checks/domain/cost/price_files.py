"""Read price books and rates from TOML, strictly: one run names every mistake. Nothing is fetched."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from checks.domain.cost.base_rates import BaseRate
from checks.domain.cost.currency import Rate
from checks.domain.cost.prices import Book, Price, PriceKind
from checks.domain.cost.studies import PublishedCause, Study
from checks.domain.errors import CountersignError
from checks.domain.tables import CatalogueError, Table

T = TypeVar("T")


class PricesInvalid(CountersignError):
    """Files of prices or rates that cannot be used; the message names every mistake, one a line."""

    code = "prices_invalid"

    def __init__(self, mistakes: Iterable[str]) -> None:
        super().__init__("\n".join(mistakes))


def read_books(paths: Iterable[Path]) -> tuple[Book, ...]:
    """The price book in each file.

    Raises:
        PricesInvalid
    """
    return _read(paths, _book)


def read_base_rates(path: Path) -> tuple[BaseRate, ...]:
    """The failure rates in a file.

    Raises:
        PricesInvalid
    """
    (rates,) = _read([path], lambda table: table.each("rate", _base_rate))
    return rates


def read_currency_rates(path: Path) -> tuple[Rate, ...]:
    """The currency rates in a file.

    Raises:
        PricesInvalid
    """
    (rates,) = _read([path], lambda table: table.each("rate", _currency_rate))
    return rates


def read_studies(path: Path) -> tuple[Study, ...]:
    """The published studies in a file.

    Raises:
        PricesInvalid: among others where the causes of a study do not add up to its interruptions.
    """
    (studies,) = _read([path], lambda table: table.each("study", _study))
    return studies


def _read(paths: Iterable[Path], read: Callable[[Table], T]) -> tuple[T, ...]:
    errors: list[CatalogueError] = []
    found = []
    for path in paths:
        try:
            held = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise PricesInvalid([f"{path.name} cannot be read: {error}."]) from error
        table = Table(held, path.name, "prices", errors)
        found.append(read(table))
        table.close()
    if errors:
        raise PricesInvalid(error.message for error in errors)
    return tuple(found)


def _book(table: Table) -> Book:
    provider, as_of, source = table.text("provider"), _day(table), table.text("source")
    rows = table.each("row", lambda row: _price(row, provider, as_of, source))
    note = table.take("note", str, "")
    return Book(provider=provider, name=table.text("name"), as_of=as_of, source=source, rows=rows, note=note)


def _price(row: Table, provider: str, as_of: date, source: str) -> Price:
    return Price(
        kind=row.choice("kind", PriceKind),
        region=row.text("region"),
        amount=_number(row, "amount"),
        as_of=_day(row) if "as_of" in row.held else as_of,
        source=row.text("source") if "source" in row.held else source,
        verified=row.take("verified", bool, fallback=False),
        provider=provider,
        destination=row.take("destination", str, ""),
        sku=row.take("sku", str, ""),
        from_gb=_number(row, "from_gb") if "from_gb" in row.held else Decimal(0),
        to_gb=_number(row, "to_gb") if "to_gb" in row.held else None,
        note=row.take("note", str, ""),
    )


def _base_rate(table: Table) -> BaseRate:
    return BaseRate(
        key=table.text("key"), name=table.text("name"), per_1000_node_days=_number(table, "per_1000_node_days"),
        counted=table.text("counted"), as_of=_day(table), source=table.text("source"),
        verified=table.take("verified", bool, fallback=False),
    )  # fmt: skip


def _currency_rate(table: Table) -> Rate:
    return Rate(
        currency=table.text("currency"), per_usd=_number(table, "per_usd"), as_of=_day(table),
        source=table.text("source"), verified=table.take("verified", bool, fallback=False),
    )  # fmt: skip


def _study(table: Table) -> Study:
    causes = table.each("cause", _cause)
    whole = table.take("interruptions", int, 0)
    if whole != sum(cause.times for cause in causes):
        table.note("interruptions", f"is {whole}, and the causes add up to {sum(cause.times for cause in causes)}")
    return Study(
        name=table.text("name"), interruptions=whole, days=table.take("days", int, 0),
        nodes=table.take("nodes", int, 0), as_of=_day(table), source=table.text("source"),
        verified=table.take("verified", bool, fallback=False), causes=causes,
    )  # fmt: skip


def _cause(table: Table) -> PublishedCause:
    return PublishedCause(
        key=table.text("key"), en=table.text("en"), zh=table.text("zh"), times=table.take("times", int, 0),
        items=frozenset(map(str, table.take("items", list, []))),
    )  # fmt: skip


def _day(table: Table) -> date:
    if "as_of" in table.held:
        return table.take("as_of", date, date.min)
    table.note("as_of", "is missing; write the day of the figure, such as 2026-03-01")
    return date.min


def _number(table: Table, key: str) -> Decimal:
    table.seen.add(key)
    found = table.held.get(key)
    if type(found) is int or (isinstance(found, Decimal) and found.is_finite()):
        return Decimal(found)
    table.note(key, f"must be a number, not {found!r}" if key in table.held else "is missing; write a number")
    return Decimal(0)
