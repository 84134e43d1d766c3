"""GPUs that are paid and do not train: windows, rehearsals, idle hours, and waiting for the gate."""

from decimal import Decimal

import pytest

from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.idle import goodput, idle_lines
from checks.domain.cost.money import cents
from checks.domain.cost.rehearsal import rehearsal_cost
from checks.domain.cost.waiting import waiting
from checks.domain.cost.window import failure_cost_a_day, judge_window, window_cost, window_share

H100 = Decimal("6.88")
LOST_S = 35 * 60


def test_two_hours_a_day_are_8_3_per_cent_of_the_capacity() -> None:
    assert window_share(2) == pytest.approx(0.0833, abs=0.0001)


def test_two_hours_a_day_of_512_gpus_cost_7045_dollars_a_day_and_211354_a_month() -> None:
    assert round(window_cost(gpus=512, price=H100, hours_a_day=2)) == 7_045
    assert round(window_cost(gpus=512, price=H100, hours_a_day=2, days=30)) == 211_354


@pytest.mark.parametrize(("rate", "usd"), [(6.5, 855), (22, 2_893)])
def test_failures_of_512_gpus_cost_less_than_the_window_that_is_to_prevent_them(rate: float, usd: int) -> None:
    assert round(failure_cost_a_day(gpus=512, price=H100, nodes=64, rate=rate, lost_s=LOST_S)) == usd


@pytest.mark.parametrize(("rate", "times"), [(6.5, "8.2"), (22, "2.4")])
def test_the_window_costs_several_times_all_that_it_could_save(rate: float, times: str) -> None:
    found = judge_window(gpus=512, price=H100, nodes=64, hours_a_day=2, rate=rate, lost_s=LOST_S)

    assert found.times is not None
    assert round(found.times, 1) == Decimal(times)
    assert not found.can_pay


def test_without_failures_a_window_has_nothing_to_save() -> None:
    assert judge_window(gpus=8, price=H100, nodes=1, hours_a_day=2, rate=0, lost_s=LOST_S).times is None


def test_72_hours_of_512_gpus_cost_253624_dollars() -> None:
    assert round(rehearsal_cost(gpus=512, price=H100)) == 253_624


def test_512_waiting_gpus_cost_3522_dollars_and_56_cents_an_hour() -> None:
    found = waiting(gpus=512, usd_per_gpu_hour=H100)

    assert found.usd_per_hour == Decimal("3522.56")
    assert cents(found.over(1)) == Decimal("0.98")


def test_no_blocked_gpu_costs_nothing() -> None:
    assert waiting(gpus=0, usd_per_gpu_hour=H100).usd_per_hour == 0


def test_each_cause_of_idleness_is_a_line_of_its_own() -> None:
    lines = idle_lines(gpus=8, price=Decimal(2), hours={"queue": 3, "data_stall": 0})

    assert [(line.key, line.amount.expected) for line in lines] == [("idle.queue", 48), ("idle.data_stall", 0)]


def test_idle_time_is_never_negative() -> None:
    with pytest.raises(ImpossibleInput, match="queue is -1"):
        idle_lines(gpus=8, price=Decimal(2), hours={"queue": -1})


def test_more_useful_time_than_was_paid_is_refused() -> None:
    assert goodput(useful_gpu_s=90, paid_gpu_s=100) == 0.9
    with pytest.raises(ImpossibleInput, match="more than the 100 paid"):
        goodput(useful_gpu_s=101, paid_gpu_s=100)


@pytest.mark.parametrize(("gpus", "price"), [(-1, "2"), (8, "0"), (8, "-2"), (8, "NaN")])
def test_waiting_needs_a_count_and_a_price(gpus: int, price: str) -> None:
    with pytest.raises(ImpossibleInput):
        waiting(gpus=gpus, usd_per_gpu_hour=Decimal(price))


def test_a_rehearsal_without_gpus_is_refused() -> None:
    with pytest.raises(ImpossibleInput, match="gpus is 0"):
        rehearsal_cost(gpus=0, price=H100)
