"""What stops 512 H100 and what that costs; figures are those worked out by hand in the design."""

from decimal import Decimal

import pytest

from checks.domain.cost.interruption import interruption_cost
from checks.domain.cost.job import Job
from checks.domain.cost.scenario import RestartTimes
from checks.domain.cost.spot import compare_spot
from checks.domain.cost.spot_rate import spot_rate
from checks.domain.cost.warm_pool import warm_pool
from tests.domain.cost.pricing import LARGE, SHIPPED

H100 = Decimal("6.88")
AWS = SHIPPED["aws"]


@pytest.mark.parametrize(
    ("part", "usd"), [("acquire", 578), ("load", 18), ("init", 5), ("lost_work", 881), ("extra_steps", 489)]
)
def test_each_part_of_a_restart_of_512_gpus_has_its_price(part: str, usd: int) -> None:
    job = Job(LARGE.with_changes(extra_steps=(0, 0, 50)))

    assert round(interruption_cost(job, H100)[part].high) == usd


def test_a_job_is_stretched_by_its_writes_and_its_interruptions() -> None:
    # w 18.2 s of 1800; a restart of 623.2 s (acquire 600, load 18.2, communicators 5) and 900 s of lost work, each
    # 207,692.3 s: 30 days x 1.010111 / (1 - 0.0073339) are 30.52722 days, in which 64 nodes fail 12.6993 times.
    job = Job(LARGE.with_changes(rates=(6.5, 6.5, 6.5)))

    assert job.worlds[1].wall_days == pytest.approx(30.52722, abs=1e-4)
    assert job.worlds[1].failures == pytest.approx(12.6993, abs=1e-3)
    assert job.ettr[1] == pytest.approx(30 / 30.52722, abs=1e-5)


def test_200_ms_cost_20_cents() -> None:
    job = Job(LARGE.with_changes(restart=RestartTimes(init_s=0.2)))

    assert round(interruption_cost(job, H100)["init"].expected, 2) == Decimal("0.20")


def test_extra_warm_up_steps_are_none_unless_the_run_says_so() -> None:
    assert interruption_cost(Job(LARGE), H100)["extra_steps"].high == 0


def test_fifty_extra_steps_stand_in_the_high_case_only() -> None:
    cost = interruption_cost(Job(LARGE.with_changes(extra_steps=(0, 0, 50))), H100)["extra_steps"]

    assert (cost.low, cost.expected) == (0, 0)
    assert cost.high > 0


def test_the_gpus_of_the_lost_node_are_not_paid_while_another_is_acquired() -> None:
    acquire = next(stop for stop in Job(LARGE).stops if stop.key == "acquire")

    assert acquire.gpus == 504


@pytest.mark.parametrize(("percent", "rate", "hours"), [(5, 1.7, 219), (10, 3.5, 107), (20, 7.4, 50)])
def test_the_advisors_monthly_share_becomes_a_rate_of_nodes(percent: float, rate: float, hours: float) -> None:
    assert round(spot_rate(percent), 1) == rate
    assert 24 * 1000 / (64 * spot_rate(percent)) == pytest.approx(hours, abs=1)


def test_spot_pays_when_the_price_falls_more_than_the_time_that_trains() -> None:
    found = compare_spot(LARGE, AWS)

    assert found.price_ratio == Decimal("1.28") / H100
    assert found.ettr_ratio < 1
    assert found.worth
    assert found.spot.total.expected < found.on_demand.total.expected


def test_spot_at_nearly_the_same_price_does_not_pay() -> None:
    found = compare_spot(LARGE.with_changes(spot_price=Decimal("6.87")), AWS)

    assert not found.worth
    assert found.spot.total.expected > found.on_demand.total.expected


def test_a_warm_pool_trades_idle_nodes_for_waiting() -> None:
    found = warm_pool(LARGE, AWS, nodes=1)

    # Eight GPUs at 6.88 for a month are 39,629 dollars and more; some 13 failures wait nine minutes less each.
    assert found.cost > 39_629
    assert 5_000 < found.saved < 8_000
    assert not found.worth
