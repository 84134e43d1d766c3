"""Price books and rates: put in force as they are, with a date and a source; an older one stays readable."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django.db import transaction

from checks.domain.cost.base_rates import BaseRate
from checks.domain.cost.currency import Rate
from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.price_bounds import Finding, Weight, findings
from checks.domain.cost.prices import Book, Price
from checks.domain.errors import CountersignError
from checks.models import BaseRate as BaseRateRow
from checks.models import CurrencyRate, PriceBook, PriceRow
from checks.selectors.costs import newest_book
from checks.services.ledger import write_entry


class PricesRefused(CountersignError):
    """A price book that is out of bounds, or that somebody has to confirm first; ``findings`` say where."""

    code = "prices_refused"

    def __init__(self, found: tuple[Finding, ...]) -> None:
        super().__init__("\n".join(map(str, found)))
        self.findings = found


class OlderThanInForce(CountersignError):
    """A newer price book of the provider is in force."""

    code = "prices_older"
    status = 409


@transaction.atomic
def load_book(*, book: Book, confirmed: bool, by: Any, now: datetime) -> PriceBook | None:
    """Put *book* in force; None: it is already.

    Raises:
        PricesRefused: a row is out of bounds; or changes by more than 30 %, and nobody *confirmed* that.
        OlderThanInForce
    """
    before = newest_book(book.provider)
    if before is not None and before.checksum == book.checksum:
        return None
    if before is not None and before.as_of > book.as_of:
        raise OlderThanInForce(f"The book of {before.as_of} is in force; {book.as_of} is older. Give a newer date.")
    stopping = {Weight.REFUSED} if confirmed else {Weight.REFUSED, Weight.CONFIRM}
    found = findings(book, before, today=now.date())
    if any(one.weight in stopping for one in found):
        raise PricesRefused(tuple(one for one in found if one.weight in stopping))
    return _store(book, by, now)


def load_base_rates(rates: Iterable[BaseRate]) -> int:
    """Add the published failure rates that are not there yet; how many there were."""
    rows = [
        BaseRateRow(
            key=one.key, name=one.name, per_1000_node_days=one.per_1000_node_days, counted=one.counted,
            as_of=one.as_of, source=one.source, verified=one.verified,
        )
        for one in rates
    ]  # fmt: skip
    before = BaseRateRow.objects.count()
    BaseRateRow.objects.bulk_create(rows, ignore_conflicts=True)
    return BaseRateRow.objects.count() - before


def load_currency_rates(rates: Iterable[Rate], *, today: date) -> int:
    """Add the currency rates that are not there yet; how many there were.

    Raises:
        ImpossibleInput: a rate is not above 0, of a day to come, or of no currency of three letters.
    """
    rows = [_currency_row(one, today) for one in rates]
    before = CurrencyRate.objects.count()
    CurrencyRate.objects.bulk_create(rows, ignore_conflicts=True)
    return CurrencyRate.objects.count() - before


def _currency_row(rate: Rate, today: date) -> CurrencyRate:
    if not (len(rate.currency) == 3 and rate.currency.isascii() and rate.currency.isupper()):
        raise ImpossibleInput("currency", "text", f"{rate.currency!r} is no currency; write it as CNY.")
    if not (rate.per_usd.is_finite() and 0 < rate.per_usd < 10**9):
        raise ImpossibleInput("per_usd", "positive", f"{rate.per_usd} {rate.currency} a dollar is no rate; check it.")
    if rate.as_of > today:
        raise ImpossibleInput("as_of", "future", f"{rate.as_of} is yet to come; give the day of the rate.")
    return CurrencyRate(
        currency=rate.currency, per_usd=rate.per_usd, as_of=rate.as_of, source=rate.source, verified=rate.verified
    )


def _store(book: Book, by: Any, now: datetime) -> PriceBook:
    stored = PriceBook.objects.create(
        provider=book.provider, name=book.name, as_of=book.as_of, source=book.source, note=book.note,
        checksum=book.checksum, loaded_at=now,
    )  # fmt: skip
    PriceRow.objects.bulk_create(_row(stored, price) for price in book.rows)
    data = {"as_of": book.as_of.isoformat(), "rows": len(book.rows), "digest": book.checksum}
    write_entry(what="prices_loaded", target=f"prices/{book.provider}", who=by, now=now, data=data)
    return stored


def _row(book: PriceBook, price: Price) -> PriceRow:
    return PriceRow(
        book=book, kind=price.kind.value, region=price.region, destination=price.destination, sku=price.sku,
        from_gb=price.from_gb, to_gb=price.to_gb, amount=price.amount, as_of=price.as_of, source=price.source,
        verified=price.verified, note=price.note,
    )  # fmt: skip
