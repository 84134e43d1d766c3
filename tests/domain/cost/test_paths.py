"""Every way that 100 checkpoints of 120 GB, and of 182 GB, may take, and what it costs."""

from decimal import Decimal

import pytest

from checks.domain.cost.errors import ImpossibleInput, PriceMissing
from checks.domain.cost.money import cents
from checks.domain.cost.paths import egress_cost, every_route
from checks.domain.cost.scenario import Route
from tests.domain.cost.pricing import SHIPPED

AWS = SHIPPED["aws"]
SMALL, LARGE = Decimal(12_000), Decimal(18_200)


@pytest.mark.parametrize(
    ("provider", "region", "route", "destination", "small", "large"),
    [
        ("aws", "us-east-1", Route.SAME_REGION, "", "0", "0"),
        ("aws", "us-east-1", Route.INTO, "", "0", "0"),
        ("aws", "us-east-1", Route.NAT, "", "540", "819"),
        ("aws", "us-east-1", Route.ZONE, "", "240", "364"),
        ("aws", "us-east-1", Route.REGION, "us-east-2", "120", "182"),
        ("aws", "us-east-1", Route.REGION, "eu-west-1", "240", "364"),
        ("aws", "us-east-1", Route.ACCELERATED, "", "480", "728"),
        ("aws", "us-east-1", Route.INTERNET, "", "1062.20", "1589.20"),
        ("azure", "eastus", Route.INTERNET, "", "1028.26", "1542.86"),
        ("gcp", "us-central1", Route.INTERNET, "", "1277.44", "1773.44"),
        ("aws", "ap-southeast-2", Route.INTERNET, "", "1328.44", "1936.04"),
    ],
)
def test_the_same_bytes_cost_by_their_way(
    provider: str, region: str, route: Route, destination: str, small: str, large: str
) -> None:
    for gb, usd in ((SMALL, small), (LARGE, large)):
        line = egress_cost(gb, route, SHIPPED[provider], region=region, destination=destination)
        assert cents(line.amount.expected) == Decimal(usd)


@pytest.mark.parametrize("gb", ["0", "0.001", "1", "1e9"])
def test_staying_in_the_region_is_free_however_much_it_is(gb: str) -> None:
    assert egress_cost(Decimal(gb), Route.SAME_REGION, AWS, region="us-east-1").amount.high == 0


def test_a_line_names_the_tiers_that_it_touched_with_their_source() -> None:
    line = egress_cost(SMALL, Route.INTERNET, AWS, region="us-east-1")

    assert [row.amount for row in line.prices] == [Decimal(0), Decimal("0.09"), Decimal("0.085")]
    assert all(row.source.startswith("https://") for row in line.prices)


def test_a_longer_run_pays_the_first_tiers_of_each_month() -> None:
    once = egress_cost(SMALL, Route.INTERNET, AWS, region="us-east-1")
    spread = egress_cost(SMALL, Route.INTERNET, AWS, region="us-east-1", months=2)

    assert spread.amount.expected == 2 * (5_900 * Decimal("0.09")) < once.amount.expected


def test_a_way_without_a_price_is_told_and_not_free() -> None:
    with pytest.raises(PriceMissing, match="import it"):
        egress_cost(SMALL, Route.INTERNET, AWS, region="eu-north-1")
    assert every_route(SMALL, AWS, region="ap-southeast-2")[Route.NAT] is None


def test_negative_bytes_are_refused() -> None:
    with pytest.raises(ImpossibleInput):
        egress_cost(Decimal(-1), Route.INTERNET, AWS, region="us-east-1")
