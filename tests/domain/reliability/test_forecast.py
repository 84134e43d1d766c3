"""A run's outlook: each published rate by itself, the cluster's own history, and ranges over both."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.cost.base_rates import BaseRate
from checks.domain.reliability.forecast import Job, forecast
from checks.domain.reliability.poisson import spares_needed
from checks.domain.reliability.posterior import History, gamma_below, gamma_quantile


def rate(key: str, per_1000: str) -> BaseRate:
    return BaseRate(key, key, Decimal(per_1000), "all", date(2026, 1, 1), "https://example.org", verified=True)


RATES = [rate("high", "22"), rate("low", "2.34")]


def test_published_rates_stand_by_themselves_the_lowest_first() -> None:
    found = forecast(Job(nodes=64, gpus=8, days=14), RATES, History())

    assert [one.source.key for one in found.published] == ["low", "high"]
    assert [round(one.outlook.interruptions, 2) for one in found.published] == [2.10, 19.71]


def test_nodes_of_four_gpus_fail_half_as_often() -> None:
    full, half = (forecast(Job(nodes=64, gpus=gpus, days=14), RATES, History()) for gpus in (8, 4))

    assert half.published[0].outlook.interruptions == full.published[0].outlook.interruptions / 2
    assert half.belief.mean == pytest.approx(full.belief.mean / 2)


def test_without_history_the_own_forecast_is_the_priors() -> None:
    found = forecast(Job(nodes=64, gpus=8, days=10), RATES, History())

    assert found.own[1].rate == pytest.approx(6.5)
    assert found.own[0].rate < found.own[1].rate < found.own[2].rate


def test_a_long_quiet_history_lowers_what_is_expected() -> None:
    quiet = forecast(Job(nodes=64, gpus=8, days=10), RATES, History(failures=1, node_days=10_000))

    assert quiet.own[1].rate == pytest.approx(1.975 / 10_150 * 1000)


def test_ranges_span_everything_that_is_known() -> None:
    found = forecast(Job(nodes=64, gpus=8, days=14), RATES, History())
    every = [one.outlook.interruptions for one in found.published] + [one.interruptions for one in found.own]

    assert found.interruptions == (min(every), max(every))


@given(st.floats(0.05, 500), st.floats(0.01, 0.99))
def test_a_quantile_is_where_that_part_lies_below(shape: float, part: float) -> None:
    assert gamma_below(shape, gamma_quantile(shape, part)) == pytest.approx(part, abs=1e-6)


@given(st.integers(1, 512), st.floats(0, 50), st.floats(0.1, 30))
def test_more_failures_never_need_fewer_spares(nodes: int, rate: float, repair: float) -> None:
    assert spares_needed(nodes, rate, repair) <= spares_needed(nodes, rate + 1, repair) <= nodes
