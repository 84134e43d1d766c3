"""MTTF, the best interval and ETTR, against published figures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.cost.curve import best_interval, ettr_curve
from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.intervals import DAY_S, availability_interval, ettr, lost_share, mttf_s, young
from checks.domain.cost.scenario import Scenario
from tests.domain.cost.pricing import LARGE

HOUR = 3600.0
M_512 = mttf_s(64, 6.5)


@pytest.mark.parametrize(
    ("gpus", "rate", "hours"),
    [(16_384, 6.5, 1.80), (131_072, 6.5, 0.225), (512, 6.5, 57.7), (1024, 2.34, 80.1), (64, 3.79, 791.6)],
)
def test_the_mttf_of_a_job_is_that_of_the_published_projections(gpus: int, rate: float, hours: float) -> None:
    assert mttf_s(gpus // 8, rate) / HOUR == pytest.approx(hours, rel=0.005)


def test_llama_3_met_419_interruptions_in_54_days() -> None:
    assert 54 * DAY_S / mttf_s(16_384 // 8, 3.79) == pytest.approx(419, abs=0.5)


@pytest.mark.parametrize(("write_s", "minutes", "low", "high"), [(9, 32, 0.985, 0.989), (91, 102, 0.965, 0.969)])
def test_storage_bandwidth_decides_the_interval_and_the_time_that_trains(
    write_s: float, minutes: float, low: float, high: float
) -> None:
    interval = young(write_s, M_512)

    assert interval / 60 == pytest.approx(minutes, abs=0.6)
    assert low <= ettr(mttf=M_512, restart_s=600, interval_s=interval, write_s=write_s) <= high + 0.0005


def test_the_availability_optimal_interval_is_youngs_and_what_a_restart_adds() -> None:
    # w + sqrt(2 (M + R) w + w^2) with w = 9, M = 207,692.3, R = 600: 9 + sqrt(3,749,342.5).
    assert availability_interval(9, M_512, 600) == pytest.approx(9 + math.sqrt(3_749_342.5), abs=0.01)


def test_the_linear_formula_is_refused_where_it_leaves_its_range_and_not_clipped() -> None:
    # 16,384 GPUs fail every 1.80 h; half an interval of 3 h and a restart of half an hour are 2 h.
    with pytest.raises(ImpossibleInput, match="never gets on") as refused:
        lost_share(mttf_s(2048, 6.5), 1800, 3 * HOUR)
    assert refused.value.rule == "ettr_range"


def test_16384_gpus_with_a_three_hour_interval_hardly_train() -> None:
    assert ettr(mttf=mttf_s(2048, 6.5), restart_s=0.158 * HOUR, interval_s=3 * HOUR, write_s=0) == pytest.approx(
        0.08, abs=0.005
    )


def test_a_job_that_fails_before_it_is_back_is_refused() -> None:
    with pytest.raises(ImpossibleInput, match="would never train") as refused:
        lost_share(600, 600, 60)
    assert refused.value.rule == "mttf_shorter_than_restart"


@given(st.floats(60, 1e7), st.floats(0, 5e6), st.floats(1, 1e6), st.floats(0, 1e4))
def test_ettr_lies_between_0_and_1_wherever_it_is_answered(
    mttf: float, restart: float, interval: float, write: float
) -> None:
    try:
        share = ettr(mttf=mttf, restart_s=restart, interval_s=interval, write_s=write)
    except ImpossibleInput:
        assert (restart + interval / 2) / mttf >= 1 or restart >= mttf
    else:
        assert 0 < share <= 1


def test_the_curve_is_highest_at_the_best_interval() -> None:
    points = [point for point in ettr_curve(LARGE, points=400) if point.expected is not None]
    highest = max(points, key=lambda point: point.expected or 0)

    assert highest.interval_s == pytest.approx(best_interval(LARGE), rel=0.05)


def test_the_curve_has_no_value_where_the_job_would_never_get_on() -> None:
    last = ettr_curve(Scenario(gpus=16_384, days=1))[-1]

    assert (last.few, last.expected, last.many) == (None, None, None)
