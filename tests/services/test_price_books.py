"""Price books are put in force once, in order, and only when nothing in them is out of bounds."""

import dataclasses
from datetime import date, timedelta
from decimal import Decimal

import pytest

from checks.domain.cost.base_rates import BaseRate
from checks.domain.cost.currency import Rate
from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.prices import PriceKind
from checks.models import LedgerEntry, PriceBook
from checks.selectors.costs import base_rates, book_named, books, currency_rates
from checks.services.price_books import (
    OlderThanInForce,
    PricesRefused,
    load_base_rates,
    load_book,
    load_currency_rates,
)
from tests.domain.cost.pricing import DAY, SHIPPED, book, price
from tests.lab import NOON

pytestmark = pytest.mark.django_db

GPU = price(PriceKind.GPU_HOUR, "6.88", sku="p5")
CUT = price(PriceKind.GPU_HOUR, "3.00", sku="p5")


def test_a_shipped_book_comes_back_from_the_database_unchanged() -> None:
    for held in SHIPPED.values():
        load_book(book=held, confirmed=False, by=None, now=NOON)

    assert {held.provider: held.checksum for held in books()} == {
        held.provider: held.checksum for held in SHIPPED.values()
    }


def test_the_same_book_twice_is_one_book_and_one_act() -> None:
    assert load_book(book=SHIPPED["aws"], confirmed=False, by=None, now=NOON) is not None
    assert load_book(book=SHIPPED["aws"], confirmed=False, by=None, now=NOON) is None
    assert PriceBook.objects.count() == LedgerEntry.objects.filter(what="prices_loaded").count() == 1


def test_a_price_that_fell_by_half_waits_for_a_word() -> None:
    load_book(book=book(GPU), confirmed=False, by=None, now=NOON)
    cut = book(CUT, as_of=DAY + timedelta(days=1))
    with pytest.raises(PricesRefused, match=r"changes from 6.88.* to 3"):
        load_book(book=cut, confirmed=False, by=None, now=NOON)
    load_book(book=cut, confirmed=True, by=None, now=NOON)

    assert [row.amount for row in book_named("test").rows] == [3]


def test_a_word_does_not_help_a_price_that_cannot_be() -> None:
    with pytest.raises(PricesRefused):
        load_book(book=book(price(PriceKind.GPU_HOUR, "-1", sku="p5")), confirmed=True, by=None, now=NOON)


def test_an_older_book_does_not_come_back() -> None:
    load_book(book=book(GPU), confirmed=False, by=None, now=NOON)
    with pytest.raises(OlderThanInForce):
        load_book(book=book(CUT, as_of=DAY - timedelta(days=1)), confirmed=True, by=None, now=NOON)


def test_the_newest_rate_of_a_currency_counts() -> None:
    first = Rate("CNY", Decimal("7.1"), as_of=date(2026, 1, 1), source="https://example.org", verified=True)
    load_currency_rates([first], today=NOON.date())
    load_currency_rates([dataclasses.replace(first, per_usd=Decimal(7), as_of=date(2026, 2, 1))], today=NOON.date())

    assert currency_rates()["CNY"].per_usd == 7
    assert load_currency_rates([first], today=NOON.date()) == 0


@pytest.mark.parametrize(
    "changes", [{"currency": "yuan"}, {"per_usd": Decimal(0)}, {"per_usd": Decimal("NaN")}, {"as_of": date(2027, 1, 1)}]
)
def test_a_rate_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    rate = Rate("CNY", Decimal("7.1"), as_of=date(2026, 1, 1), source="https://example.org", verified=True)
    with pytest.raises(ImpossibleInput):
        load_currency_rates([dataclasses.replace(rate, **changes)], today=NOON.date())


def test_published_rates_are_listed_lowest_first_and_once() -> None:
    rates = [
        BaseRate(key, key, Decimal(value), "failures", as_of=DAY, source="https://example.org", verified=True)
        for key, value in (("b", "6.5"), ("a", "2.34"))
    ]
    assert (load_base_rates(rates), load_base_rates(rates)) == (2, 0)
    assert [rate.key for rate in base_rates()] == ["a", "b"]
