"""Price rows: what something costs, where, since when and by whose word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final

from checks.domain.canonical import Tag, digest
from checks.domain.cost.errors import PriceMissing

#: A price book older than this is shown with an amber mark.
AGED_AFTER: Final = timedelta(days=90)


class PriceKind(StrEnum):
    """What a row prices; its unit follows."""

    EGRESS_TIER = "egress_tier"
    GPU_HOUR = "gpu_hour"
    SPOT_HOUR = "spot_hour"
    STORAGE_MONTH = "storage_month"
    REQUEST_1000 = "request_1000"
    NAT_GB = "nat_gb"
    ACCEL_GB = "accel_gb"


UNITS: Final[Mapping[PriceKind, str]] = {
    PriceKind.EGRESS_TIER: "GB",
    PriceKind.GPU_HOUR: "GPU hour",
    PriceKind.SPOT_HOUR: "GPU hour",
    PriceKind.STORAGE_MONTH: "GB month",
    PriceKind.REQUEST_1000: "1000 requests",
    PriceKind.NAT_GB: "GB",
    PriceKind.ACCEL_GB: "GB",
}


@dataclass(frozen=True, slots=True)
class Price:
    """One row of a price book, complete in itself, so that an estimate can keep a copy.

    ``amount`` is US dollars a unit. ``destination`` is where bytes go ("internet", "region", "zone" or a region's
    name); ``sku`` what is hired. ``from_gb`` and ``to_gb`` bound a tier (None: without end).
    """

    kind: PriceKind
    region: str
    amount: Decimal
    as_of: date
    source: str
    verified: bool
    provider: str = ""
    destination: str = ""
    sku: str = ""
    from_gb: Decimal = Decimal(0)
    to_gb: Decimal | None = None
    note: str = ""

    @property
    def unit(self) -> str:
        """What the amount buys one of."""
        return UNITS[self.kind]

    @property
    def name(self) -> str:
        """The row's name, unique in its book: what it prices, where, and from which tier on."""
        parts = (self.kind, self.region, self.destination, self.sku, _text(self.from_gb) if self.from_gb else "")
        return " ".join(part for part in parts if part)

    def as_json(self) -> dict[str, str]:
        """The row as an estimate keeps it; every value is text, what is absent is left out."""
        found = {
            "kind": self.kind.value, "provider": self.provider, "region": self.region, "destination": self.destination,
            "sku": self.sku, "from_gb": _text(self.from_gb), "to_gb": "" if self.to_gb is None else _text(self.to_gb),
            "unit": self.unit, "amount": _text(self.amount), "currency": "USD", "as_of": self.as_of.isoformat(),
            "source": self.source, "note": self.note, "verified": "yes" if self.verified else "no",
        }  # fmt: skip
        return {key: value for key, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Book:
    """The prices of one provider as of one day."""

    provider: str
    name: str
    as_of: date
    source: str
    rows: tuple[Price, ...]
    note: str = ""

    @property
    def checksum(self) -> str:
        """Digest of everything in the book: the same prices are the same book."""
        head = {"provider": self.provider, "name": self.name, "as_of": self.as_of.isoformat(), "note": self.note}
        return digest(Tag.PRICES, head | {"source": self.source, "rows": [row.as_json() for row in self.rows]})

    def is_aged(self, today: date) -> bool:
        """Whether the prices are so old that they should be looked up again."""
        return today - self.as_of > AGED_AFTER

    def of(self, kind: PriceKind, *, region: str | None = None, sku: str | None = None) -> Iterator[Price]:
        """The rows of one kind, of one region and thing where these are given."""
        for row in self.rows:
            if row.kind is kind and region in (None, row.region) and sku in (None, row.sku):
                yield row

    def one(self, kind: PriceKind, *, region: str, sku: str | None = None) -> Price:
        """The one row that prices something in a region.

        Raises:
            PriceMissing: there is none.
        """
        for row in self.of(kind, region=region, sku=sku):
            return row
        raise PriceMissing(
            f"{self.name} has no {kind.value} of {sku or 'it'} in {region}; choose another or import the row."
        )

    def tiers(self, *, region: str, destination: str) -> tuple[Price, ...]:
        """The tiers for bytes that leave *region* for *destination*, from the first GB on.

        Raises:
            PriceMissing: there are none.
        """
        found = _sorted(row for row in self.of(PriceKind.EGRESS_TIER, region=region) if row.destination == destination)
        if not found:
            raise PriceMissing(
                f"{self.name} has no egress price from {region} to {destination}; choose another path or import it."
            )
        return found

    @property
    def regions(self) -> tuple[str, ...]:
        """Regions that some row prices, in order."""
        return tuple(sorted({row.region for row in self.rows}))

    @property
    def skus(self) -> tuple[str, ...]:
        """What can be hired by the GPU hour, in order."""
        return tuple(sorted({row.sku for row in self.of(PriceKind.GPU_HOUR)}))


def _text(number: Decimal) -> str:
    """The number without zeros at its end, however many the database keeps."""
    return f"{number.normalize():f}"


def _sorted(rows: Iterable[Price]) -> tuple[Price, ...]:
    return tuple(sorted(rows, key=lambda row: row.from_gb))
