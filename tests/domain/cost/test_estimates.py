"""Whole estimates: lines that add up, in three worlds."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.cost.errors import ImpossibleInput, PriceMissing
from checks.domain.cost.estimating import estimate
from checks.domain.cost.money import Part, Range
from checks.domain.cost.ready_scenarios import READY
from checks.domain.cost.scenario import Route, Scenario
from checks.domain.cost.wire import estimate_json, read_estimate, read_scenario, scenario_json
from tests.domain.cost.pricing import LARGE, SHIPPED

AWS = SHIPPED["aws"]

scenarios = st.builds(
    Scenario,
    gpus=st.integers(1, 4096),
    days=st.floats(0.5, 90),
    spot_share=st.sampled_from([0.0, 0.25, 1.0]),
    interval_s=st.sampled_from([None, 600.0, 1800.0, 5400.0]),
    route=st.sampled_from(list(Route)),
    window_h_a_day=st.sampled_from([0.0, 2.0]),
    warm_nodes=st.integers(0, 3),
    idle_h=st.floats(0, 100).map(lambda hours: round(hours, 3)),  # as a person would write it
    keep_every=st.integers(0, 20),
    rehearsal_h=st.sampled_from([0.0, 72.0]),
)


@given(scenarios)
def test_parts_and_lines_sum_to_the_total_in_each_world(scenario: Scenario) -> None:
    found = estimate(scenario, AWS)

    for case in ("low", "expected", "high"):
        total = getattr(found.total, case)
        assert sum(getattr(line.amount, case) for line in found.lines) == total
        assert sum(getattr(part, case) for part in found.parts.values()) == total


@given(scenarios)
def test_no_line_is_negative_and_more_failures_never_cost_less(scenario: Scenario) -> None:
    for line in estimate(scenario, AWS).lines:
        assert 0 <= line.amount.low <= line.amount.expected <= line.amount.high


@given(scenarios)
def test_every_line_says_how_it_was_reckoned(scenario: Scenario) -> None:
    for line in estimate(scenario, AWS).lines:
        assert line.formula
        assert line.inputs
        assert line.prices


@given(scenarios)
def test_an_estimate_and_its_scenario_come_back_as_they_were_kept(scenario: Scenario) -> None:
    found = estimate(scenario, AWS)

    assert read_estimate(estimate_json(found)) == found
    assert read_scenario(scenario_json(scenario)) == scenario


def test_training_is_gpus_times_hours_times_price() -> None:
    (line,) = (line for line in estimate(LARGE, AWS).lines if line.part is Part.TRAINING)

    # 512 x 720 h x 6.88
    assert line.amount == Range.exactly(Decimal("2536243.20"))


def test_another_interval_changes_the_total() -> None:
    often, best = (estimate(LARGE.with_changes(interval_s=s), AWS).total.expected for s in (120.0, None))

    assert best < often


def test_100_checkpoints_of_120_gb_to_the_internet_are_not_1200_dollars() -> None:
    assert estimate(READY["article_checkpoints"], AWS).part(Part.EGRESS).expected == Decimal("1062.20")


def test_the_whole_rehearsal_of_512_gpus_costs_253_624_dollars() -> None:
    assert round(estimate(READY["rehearsal_72h"], AWS).part(Part.REHEARSAL).expected) == 253_624


def test_the_restart_with_200_ms_and_50_steps_shows_the_steps_in_the_high_case_only() -> None:
    lines = {line.key: line.amount for line in estimate(READY["spot_restart"], AWS).lines}

    assert lines["spot.extra_steps"].expected == 0
    assert lines["spot.extra_steps"].high > 0


def test_a_daily_window_of_two_hours_makes_a_run_longer_by_an_eleventh() -> None:
    found = estimate(READY["window_22_2"], AWS)
    gpu_time = sum(
        (found.part(part).expected for part in (Part.TRAINING, Part.CHECKPOINTS)), found.part(Part.WINDOW).expected
    )

    assert found.part(Part.WINDOW).expected / gpu_time == pytest.approx(Decimal(2) / 24, rel=Decimal("0.01"))


def test_what_the_book_does_not_price_is_named_and_not_nought() -> None:
    azure = Scenario(gpus=8, days=1, region="eastus", sku="ND-H100-v5")
    found = estimate(azure, SHIPPED["azure"])

    assert found.unpriced == (Part.STORAGE, Part.REQUESTS)
    assert Part.STORAGE not in found.parts


def test_unverified_rows_are_named() -> None:
    found = estimate(LARGE.with_changes(route=Route.NAT), AWS)

    assert {price.kind.value for price in found.unverified} == {"nat_gb", "request_1000"}


def test_a_price_of_ones_own_needs_no_row() -> None:
    found = estimate(LARGE.with_changes(sku="leased", gpu_price=Decimal(2)), AWS)

    assert found.part(Part.TRAINING).expected == 512 * 720 * 2


def test_a_sku_that_the_book_does_not_price_is_told() -> None:
    with pytest.raises(PriceMissing, match="has no gpu_hour of x1 in us-east-1"):
        estimate(LARGE.with_changes(sku="x1"), AWS)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"gpus": 0}, "between"),
        ({"gpus": -8}, "between"),
        ({"days": 0}, "between"),
        ({"days": float("nan")}, "between"),
        ({"checkpoint_gb": Decimal(-1)}, "between"),
        ({"month_to_date_gb": Decimal(-1)}, "between"),
        ({"parameters": -13e9}, "between"),
        ({"window_h_a_day": 24}, "between"),
        ({"spot_share": 1.1}, "between"),
        ({"rates": (6.5, 2.34, 22)}, "rising"),
        ({"extra_steps": (50, 0, 0)}, "rising"),
        ({"spot_share": 1.0, "spot_price": Decimal("6.89")}, "spot_dearer"),
        ({"gpu_price": Decimal(2), "spot_price": Decimal(3)}, "spot_dearer"),
        ({"write_gb_s": 0.1}, "longer_than_writing"),
        ({"gpus": 131_072, "rates": (2.34, 6.5, 22)}, "ettr_range"),
        ({"gpus": 1_048_576}, "mttf_shorter_than_restart"),
    ],
)
def test_what_no_run_can_have_is_refused_with_a_sentence(changes: dict[str, object], rule: str) -> None:
    with pytest.raises(ImpossibleInput) as refused:
        estimate(LARGE.with_changes(**changes), AWS)

    assert refused.value.rule == rule
    assert refused.value.message.endswith(".")


def test_a_job_that_never_gets_on_is_told_at_which_rate() -> None:
    with pytest.raises(ImpossibleInput, match=r"With 22 failures of a node in 1000 days: The job fails every 0\.27 h"):
        estimate(LARGE.with_changes(gpus=32_768), AWS)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"days": 3}, "gpus"),
        ({"gpus": "many", "days": 3}, "gpus"),
        ({"gpus": 1.5, "days": 3}, "gpus"),
        ({"gpus": True, "days": 3}, "gpus"),
        ({"gpus": 8, "days": "1e999"}, "days"),
        ({"gpus": 8, "days": "NaN"}, "days"),
        ({"gpus": 8, "days": 3, "month_to_date_gb": "1e-999999999"}, "month_to_date_gb"),
        ({"gpus": 8, "days": 3, "month_to_date_gb": "0e-999999999"}, "month_to_date_gb"),
        ({"gpus": 8, "days": 3, "checkpoint_gb": "1." + "0" * 100_000}, "checkpoint_gb"),
        ({"gpus": 8, "days": 3, "colour": "red"}, "colour"),
        ({"gpus": 8, "days": 3, "route": "moon"}, "route"),
        ({"gpus": 8, "days": 3, "rates": [1, 2]}, "rates"),
        ({"gpus": 8, "days": 3, "restart": {"nap_s": 3}}, "nap_s"),
        ({"gpus": 8, "days": 3, "restart": 5}, "restart"),
        ({"gpus": 8, "days": 3, "sku": "a\u0000b"}, "sku"),
    ],
)
def test_a_scenario_that_cannot_be_read_names_the_input(sent: dict[str, object], field: str) -> None:
    with pytest.raises(ImpossibleInput) as refused:
        read_scenario(sent)

    assert refused.value.field == field


def test_numbers_as_a_form_sends_them_are_read() -> None:
    found = read_scenario({"gpus": "512", "days": "30", "gpu_price": "", "interval_s": "", "month_to_date_gb": "1.5"})

    assert (found.gpus, found.gpu_price, found.interval_s, found.month_to_date_gb) == (512, None, None, Decimal("1.5"))
