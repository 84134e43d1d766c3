"""Price books of the tests: the shipped ones, and made-up rows."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from checks.domain.cost.price_files import read_books
from checks.domain.cost.prices import Book, Price, PriceKind
from checks.domain.cost.scenario import Scenario

PRICES = Path(__file__).parents[3] / "checks" / "prices"
DAY = date(2026, 3, 1)
SHIPPED = {book.provider: book for book in read_books(sorted(PRICES.glob("*.toml")))}
#: 512 H100 in 64 nodes for thirty days, 182 GB checkpoints every half hour.
LARGE = Scenario(gpus=512, days=30)


def price(kind: PriceKind, amount: str, **more: Any) -> Price:
    """A verified row in us-east-1."""
    columns: dict[str, Any] = {
        "region": "us-east-1", "as_of": DAY, "source": "https://example.org/prices", "verified": True,
    }  # fmt: skip
    return Price(kind=kind, amount=Decimal(amount), **(columns | more))


def tier(amount: str, from_gb: int, to_gb: int | None) -> Price:
    """One tier to the internet."""
    end = None if to_gb is None else Decimal(to_gb)
    return price(PriceKind.EGRESS_TIER, amount, destination="internet", from_gb=Decimal(from_gb), to_gb=end)


def book(*rows: Price, as_of: date = DAY) -> Book:
    """A book of these rows."""
    return Book(provider="test", name="Test prices", as_of=as_of, source="https://example.org/prices", rows=rows)
