"""Evidence under load, with the values of the captures of a node with two H200."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checks.domain.evaluation import judge
from checks.domain.loading import loaded_until
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Reason, Verdict
from tests.domain.building import NOON, Subject

IDLE = {"temperature": 34, "tlimit": 53, "utilization": 0}
LOAD = {"temperature": 61, "tlimit": 26, "utilization": 99}


@pytest.fixture
def temperature(h200x2: Ruleset) -> Subject:
    return Subject(h200x2.items["gpu-temperature"])


@pytest.fixture
def generation(h200x2: Ruleset) -> Subject:
    return Subject(h200x2.items["gpu-pcie-generation"])


@pytest.fixture
def throttle(h200x2: Ruleset) -> Subject:
    return Subject(h200x2.items["gpu-clock-throttle"])


def counters(utilization: int, hw_thermal: int = 0, sw_power_cap: int = 0) -> dict[str, int | bool]:
    return {
        "hw_slowdown_active": False, "hw_thermal": hw_thermal, "power_brake": 0, "sw_thermal": 0,
        "sw_power_cap": sw_power_cap, "sm_clock": 1485, "utilization": utilization,
        **({"sm_clock_share": 1.0} if utilization else {}),
    }  # fmt: skip


def test_an_idle_sample_and_one_35_seconds_later_are_no_proof(temperature: Subject, generation: Subject) -> None:
    temperature.report(0, **IDLE)
    generation.report(0, generation=5, generation_max=5, utilization=0)

    for judgement in (
        temperature.report(35, **LOAD),
        generation.report(35, generation=5, generation_max=5, utilization=99),
    ):
        assert (judgement.verdict, judgement.reason) == (Verdict.UNKNOWN, Reason.NOT_LOADED)
        assert judgement.detail == "loaded 35 s of 300"


def test_three_loaded_reports_150_seconds_apart_are_a_proof(
    temperature: Subject, generation: Subject, throttle: Subject
) -> None:
    for second, verdict in ((0, "unknown"), (150, "unknown"), (300, "pass")):
        assert temperature.report(second, **LOAD).verdict == verdict
        assert generation.report(second, generation=5, generation_max=5, utilization=99).verdict == verdict
        assert throttle.report(second, **counters(99)).verdict == verdict


def test_the_burn_of_the_capture_proves_every_item_of_a_hot_gpu(temperature: Subject, throttle: Subject) -> None:
    # Unix times 1795983459 (idle1), …560, …660, …761, …861 (load0 to load3), …920 (after); GPU 1.
    celsius = {0: 36, 101: 67, 201: 69, 302: 70, 402: 70, 461: 43}
    power_cap = {0: 0, 101: 95479783, 201: 195579779, 302: 295979786, 402: 396679793, 461: 439511193}
    told = {}
    for second, degrees in celsius.items():
        busy = 98 if 101 <= second <= 402 else 0
        told[second] = (
            temperature.report(second, temperature=degrees, tlimit=87 - degrees, utilization=busy).verdict,
            throttle.report(second, **counters(busy, sw_power_cap=power_cap[second])).verdict,
        )

    assert told[302] == ("unknown", "unknown")
    assert told[402] == ("pass", "pass")
    assert told[461] == ("pass", "pass")


def test_only_60_seconds_before_a_first_loaded_sample_count(generation: Subject) -> None:
    generation.report(0, generation=1, generation_max=5, utilization=0)

    judgement = generation.report(300, generation=5, generation_max=5, utilization=99)

    assert judgement.detail == "loaded 60 s of 300"


def test_loaded_samples_more_than_600_seconds_apart_say_nothing_of_the_time_between(generation: Subject) -> None:
    generation.report(0, generation=5, generation_max=5, utilization=99)

    assert generation.report(601, generation=5, generation_max=5, utilization=99).detail == "loaded 60 s of 300"


def test_an_idle_sample_ends_the_load(temperature: Subject) -> None:
    for second in (0, 150):
        temperature.report(second, **LOAD)
    temperature.report(200, **IDLE)

    assert temperature.report(260, **LOAD).detail == "loaded 60 s of 300"


def test_an_idle_sample_may_fail_what_it_cannot_prove(temperature: Subject, throttle: Subject) -> None:
    for second in (0, 150):
        temperature.report(second, temperature=86, tlimit=1, utilization=0)
    throttle.report(0, **counters(0))

    assert temperature.report(300, temperature=86, tlimit=1, utilization=0).verdict is Verdict.FAIL
    assert throttle.report(150, **counters(0, hw_thermal=9)).verdict is Verdict.FAIL


def test_a_low_generation_while_idle_is_no_sample(generation: Subject) -> None:
    assert generation.report(0, generation=1, generation_max=5, utilization=0).reason is Reason.NOT_LOADED


def test_a_low_generation_under_load_fails_at_once_and_idling_cures_nothing(generation: Subject) -> None:
    assert generation.report(0, generation=4, generation_max=5, utilization=99).verdict is Verdict.FAIL
    assert generation.report(150, generation=1, generation_max=5, utilization=0).verdict is Verdict.FAIL
    for second in (300, 450):
        assert generation.report(second, generation=5, generation_max=5, utilization=99).verdict is Verdict.FAIL

    assert generation.report(600, generation=5, generation_max=5, utilization=99).verdict is Verdict.PASS


def test_a_slowdown_under_load_fails_until_a_new_proof(throttle: Subject) -> None:
    for second in (0, 150, 300):
        throttle.report(second, **counters(99))

    assert throttle.report(450, **counters(99, hw_thermal=5)).verdict is Verdict.FAIL
    assert throttle.report(600, **counters(0, hw_thermal=5)).verdict is Verdict.FAIL


def test_a_power_cap_at_full_load_is_normal(throttle: Subject) -> None:
    for second in (0, 150, 300):
        verdict = throttle.report(second, **counters(99, sw_power_cap=second * 1_000_000)).verdict

    assert verdict is Verdict.PASS


def test_a_proof_counts_for_seven_days_and_not_a_second_longer(temperature: Subject) -> None:
    for second in (0, 150, 300):
        temperature.report(second, **LOAD)
    assert temperature.measured is not None
    value, end = temperature.measured.value, NOON + timedelta(seconds=300, days=7)

    assert loaded_until(value) == end
    assert judge(temperature.item, value, now=end).verdict is Verdict.PASS
    assert judge(temperature.item, value, now=end + timedelta(seconds=1)).reason is Reason.NOT_LOADED


def test_a_reboot_ends_the_load_and_keeps_the_proof(temperature: Subject) -> None:
    for second in (0, 150, 300):
        temperature.report(second, **LOAD)

    assert temperature.report(450, boot="boot-2", **IDLE).verdict is Verdict.PASS


def test_a_proof_is_judged_again_under_a_stricter_threshold(temperature: Subject) -> None:
    for second in (0, 150, 300):
        temperature.report(second, **LOAD)
    temperature.report(600, **IDLE)
    assert temperature.measured is not None
    criterion = replace(temperature.item.criteria[0], threshold=60)

    stricter = judge(replace(temperature.item, criteria=(criterion,)), temperature.measured.value, now=NOON)

    assert (stricter.verdict, stricter.detail.split(" or ")[0]) == (Verdict.FAIL, "temperature 61 celsius")


def test_what_cannot_be_told_under_load_proves_nothing(generation: Subject) -> None:
    for second in (0, 150, 300):
        judgement = generation.report(second, generation=5, utilization=99)

    assert judgement.reason is Reason.NOT_MEASURED
