"""Tiered egress: each GB costs what its own tier says."""

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.prices import Price
from checks.domain.cost.tiers import gap_in, tiered_cost
from tests.domain.cost.pricing import SHIPPED, tier

AWS = SHIPPED["aws"].tiers(region="us-east-1", destination="internet")
EDGES = [Decimal(edge) for edge in (100, 10_240, 51_200, 153_600)]
EVERY_TIERS = [
    book.tiers(region=row.region, destination="internet")
    for book in SHIPPED.values()
    for row in book.rows
    if row.destination == "internet" and row.from_gb == 0
]
amounts = st.decimals(min_value=0, max_value=400_000, places=3)


def test_12_000_gb_out_of_us_east_1_cost_1062_dollars_and_20_cents() -> None:
    # 100 free, 10,140 at 0.09 = 912.60, 1,760 at 0.085 = 149.60.
    assert tiered_cost(Decimal(12_000), AWS) == Decimal("1062.20")


@pytest.mark.parametrize(
    ("gb", "usd"),
    [
        (99, "0"),
        (100, "0"),
        (101, "0.09"),
        (10_239, "912.51"),
        (10_240, "912.60"),
        (10_241, "912.685"),
        (51_199, "4394.115"),
        (51_200, "4394.20"),
        (51_201, "4394.27"),
        (153_599, "11562.13"),
        (153_600, "11562.20"),
        (153_601, "11562.25"),
    ],
)
def test_at_each_edge_of_a_tier_one_gb_more_costs_one_gb_more(gb: int, usd: str) -> None:
    assert tiered_cost(Decimal(gb), AWS) == Decimal(usd)


def test_what_the_month_has_already_seen_counts() -> None:
    assert tiered_cost(Decimal(10), AWS, used=Decimal(10_235)) == 5 * Decimal("0.09") + 5 * Decimal("0.085")


@pytest.mark.parametrize("tiers", EVERY_TIERS, ids=lambda tiers: f"{tiers[0].provider} {tiers[0].region}")
def test_no_shipped_tiers_fall_at_an_edge(tiers: tuple[Price, ...]) -> None:
    for edge in EDGES:
        below, at, above = (tiered_cost(edge + step, tiers) for step in (-1, 0, 1))
        assert below <= at < above


@given(amounts, amounts)
def test_more_never_costs_less(one: Decimal, other: Decimal) -> None:
    assert tiered_cost(min(one, other), AWS) <= tiered_cost(max(one, other), AWS)


@given(amounts, amounts, amounts)
def test_two_loads_cost_what_both_at_once_cost(used: Decimal, first: Decimal, second: Decimal) -> None:
    apart = tiered_cost(first, AWS, used) + tiered_cost(second, AWS, used + first)

    assert apart == tiered_cost(first + second, AWS, used)


def test_a_thousand_random_bills_equal_the_sum_over_every_quarter_of_a_gb() -> None:
    """The integral is taken by hand: a list with the price of each quarter GB, added up one by one."""
    chance = random.Random(20261130)
    for _ in range(1000):
        edges = sorted(chance.sample(range(1, 400), chance.randint(1, 4)))
        prices = [chance.randint(0, 120_000) for _ in range(len(edges) + 1)]  # millionths of a dollar
        quarters = [prices[sum(place // 4 >= edge for edge in edges)] for place in range(4 * 600)]
        used, gb = chance.randint(0, 1200), chance.randint(0, 1200)
        by_hand = sum(quarters[used : used + gb])
        starts, ends = [0, *edges], [*edges, None]
        tiers = [
            tier(str(Decimal(amount) / 10**6), start, end)
            for amount, start, end in zip(prices, starts, ends, strict=True)
        ]
        assert tiered_cost(Decimal(gb) / 4, tiers, Decimal(used) / 4) * 4 * 10**6 == by_hand


@pytest.mark.parametrize(("gb", "used"), [("-1", "0"), ("1", "-0.001"), ("NaN", "0"), ("Infinity", "0")])
def test_bytes_that_cannot_be_are_refused(gb: str, used: str) -> None:
    with pytest.raises(ImpossibleInput, match="give 0 or more"):
        tiered_cost(Decimal(gb), AWS, Decimal(used))


def test_a_gap_between_tiers_is_found_where_it_is() -> None:
    assert gap_in([tier("0.1", 0, 100), tier("0.2", 200, None)]) == 100
    assert gap_in([tier("0.1", 0, 100), tier("0.2", 90, None)]) == 100
    assert gap_in([tier("0.1", 0, 100)]) == 100
    assert gap_in([tier("0.1", 5, None)]) == 0
    assert gap_in([tier("0.1", 0, 100), tier("0.2", 100, None)]) is None
