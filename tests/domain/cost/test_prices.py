"""Price books: read strictly, held to bounds, dated."""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from checks.domain.cost.price_bounds import Weight, findings
from checks.domain.cost.price_changes import price_changes
from checks.domain.cost.price_csv import read_price_csv
from checks.domain.cost.price_files import PricesInvalid, read_base_rates, read_books, read_currency_rates
from checks.domain.cost.prices import Book, Price, PriceKind
from tests.domain.cost.pricing import DAY, PRICES, SHIPPED, book, price, tier

RATES = PRICES.parent / "rates"
CSV_HEAD = "kind,region,amount,source,destination,sku,from_gb,to_gb,verified\n"
GPU = price(PriceKind.GPU_HOUR, "6.88", sku="p5")


def weights(held: Book, before: Book | None = None, today: date = DAY) -> list[tuple[Weight, str]]:
    return [(one.weight, one.message) for one in findings(held, before, today=today)]


def as_book(text: str) -> Book:
    return read_price_csv(text, provider="own", name="Own", as_of=DAY, source="https://example.org")


@pytest.mark.parametrize("held", SHIPPED.values(), ids=SHIPPED)
def test_no_shipped_price_is_out_of_bounds_or_without_source_and_date(held: Book) -> None:
    assert not [one for one in findings(held, None, today=date(2026, 11, 30)) if one.weight is not Weight.WARNING]
    assert all(row.source.startswith("https://") and row.as_of <= held.as_of for row in held.rows)


def test_prices_that_nobody_could_check_are_marked() -> None:
    unverified = {(row.kind, row.destination) for row in SHIPPED["aws"].rows if not row.verified}

    assert {(PriceKind.NAT_GB, ""), (PriceKind.ACCEL_GB, ""), (PriceKind.REQUEST_1000, "")} <= unverified
    assert (PriceKind.EGRESS_TIER, "internet") not in unverified


def test_published_rates_hold_the_three_that_a_scenario_begins_with() -> None:
    rates = {rate.key: rate.per_1000_node_days for rate in read_base_rates(RATES / "base.toml")}

    assert (rates["meta_rsc2"], rates["meta_rsc1"], rates["meta_measured"]) == (Decimal("2.34"), Decimal("6.50"), 22)


def test_currency_rates_are_dated_and_say_who_says_so() -> None:
    for rate in read_currency_rates(RATES / "currencies.toml"):
        assert rate.source.startswith("https://")
        assert date(2024, 1, 1) < rate.as_of < date(2027, 1, 1)


def test_a_book_ages_after_ninety_days() -> None:
    held = book(GPU)

    assert not held.is_aged(DAY + timedelta(days=90))
    assert held.is_aged(DAY + timedelta(days=91))


def test_the_same_prices_are_the_same_book_however_many_zeros_they_end_in() -> None:
    padded = price(PriceKind.GPU_HOUR, "6.880000", sku="p5")

    assert book(GPU).checksum == book(padded).checksum
    assert book(GPU).checksum != book(price(PriceKind.GPU_HOUR, "6.89", sku="p5")).checksum


@pytest.mark.parametrize(
    ("row", "weight"),
    [
        (price(PriceKind.GPU_HOUR, "0", sku="b200"), Weight.REFUSED),
        (price(PriceKind.GPU_HOUR, "-1", sku="b200"), Weight.REFUSED),
        (price(PriceKind.STORAGE_MONTH, "0.0230000001"), Weight.REFUSED),
        (price(PriceKind.GPU_HOUR, "0.01", sku="b200"), Weight.CONFIRM),
        (price(PriceKind.GPU_HOUR, "98.32", sku="a-whole-instance"), Weight.CONFIRM),
        (price(PriceKind.GPU_HOUR, "2", sku="x", as_of=DAY + timedelta(days=1)), Weight.REFUSED),
        (price(PriceKind.GPU_HOUR, "2", sku="x", verified=False), Weight.WARNING),
        (tier("0.09", 100, None), Weight.REFUSED),
    ],
)
def test_an_odd_price_is_found(row: Price, weight: Weight) -> None:
    assert [found for found, _message in weights(book(row))] == [weight]


def test_a_free_tier_is_no_odd_price() -> None:
    assert not weights(book(tier("0", 0, 100), tier("0.09", 100, None)))


@pytest.mark.parametrize(("spot", "said"), [("7.00", "no pool"), ("6.88", "no pool"), ("0.82", "floor price")])
def test_spot_that_is_no_offer_is_told(spot: str, said: str) -> None:
    (found,) = weights(book(GPU, price(PriceKind.SPOT_HOUR, spot, sku="p5")))

    assert found[0] is Weight.WARNING
    assert said in found[1]


def test_a_price_that_moves_by_more_than_30_per_cent_has_to_be_confirmed() -> None:
    cut = book(price(PriceKind.GPU_HOUR, "4.81", sku="p5"))

    assert [weight for weight, _ in weights(cut, before=book(GPU))] == [Weight.CONFIRM]
    assert not weights(book(price(PriceKind.GPU_HOUR, "4.82", sku="p5")), before=book(GPU))


def test_a_book_of_tomorrow_an_empty_one_and_a_row_twice_are_refused() -> None:
    assert (Weight.REFUSED, "holds no row; give at least one price.") in weights(book())
    assert "yet to come" in weights(book(GPU, as_of=DAY + timedelta(days=1)))[0][1]
    assert "is there 2 times" in weights(book(GPU, GPU))[0][1]


def test_changes_name_what_is_new_gone_and_priced_otherwise() -> None:
    after = book(price(PriceKind.GPU_HOUR, "7", sku="p5"), price(PriceKind.STORAGE_MONTH, "0.023"))
    before = book(GPU, price(PriceKind.NAT_GB, "0.045"))

    assert [(one.row, one.before, one.after) for one in price_changes(before, after)] == [
        ("gpu_hour us-east-1 p5", Decimal("6.88"), Decimal(7)),
        ("nat_gb us-east-1", Decimal("0.045"), None),
        ("storage_month us-east-1", None, Decimal("0.023")),
    ]


def test_every_mistake_of_a_file_is_named_in_one_run(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'provider = "own"\nname = "Own"\nas_of = "today"\nsource = "https://example.org"\n'
        '[[row]]\nkind = "gpu_our"\nregion = "here"\namount = "2"\ncolour = "red"\n',
        encoding="utf-8",
    )
    with pytest.raises(PricesInvalid) as refused:
        read_books([file])

    for said in ("as_of", "gpu_our", "amount: must be a number", "colour: is not a known key"):
        assert said in refused.value.message


def test_a_file_that_is_no_toml_is_told(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("provider =", encoding="utf-8")
    with pytest.raises(PricesInvalid, match=r"own.toml cannot be read"):
        read_books([tmp_path / "own.toml"])


def test_a_book_is_read_from_csv() -> None:
    held = as_book(
        CSV_HEAD + "gpu_hour,here,2.49,https://example.org/p,,h200,,,yes\n"
        "egress_tier,here,0.05,https://example.org/p,internet,,0,100,\n"
    )

    assert [(row.name, row.amount, row.verified) for row in held.rows] == [
        ("gpu_hour here h200", Decimal("2.49"), True),
        ("egress_tier here internet", Decimal("0.05"), False),
    ]
    assert held.rows[1].to_gb == 100


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind,region\n", "columns amount, source are missing"),
        ("kind,region,amount,source,colour\n", "columns colour are not known"),
        ("kind,region,amount,source\ngpu_hour,here,two,https://x\n", "line 2: 'two' is no number"),
        ("kind,region,amount,source\ngpu_hour,here,Infinity,https://x\n", "line 2: 'Infinity' is no number"),
        ("kind,region,amount,source\ngpu_our,here,2,https://x\n", "line 2: 'gpu_our' is none of"),
        ("kind,region,amount,source\ngpu_hour,,2,https://x\n", "line 2: region is empty"),
        ("kind,region,amount,source\ngpu_hour,here,2,https://x,more\n", "line 2: has more cells"),
        ("kind,region,amount,source,currency\ngpu_hour,here,2,https://x,EUR\n", "line 2: is in 'EUR'"),
        ("kind,region,amount,source,as_of\ngpu_hour,here,2,https://x,today\n", "line 2: 'today' is no day"),
    ],
)
def test_a_csv_that_is_no_price_book_names_the_line(text: str, said: str) -> None:
    with pytest.raises(PricesInvalid) as refused:
        as_book(text)

    assert said in refused.value.message
