"""A GPU's clock beside those of the other loaded GPUs of its node."""

from datetime import timedelta

import pytest

from checks.domain.evaluation import judge
from checks.domain.facts import Fact
from checks.domain.items import Item
from checks.domain.measuring import measure_covered
from checks.domain.memory import ItemMemory
from checks.domain.peers import shares_of, with_shares
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Verdict
from tests.domain.building import NOON, read

KEY = "gpu-clock-throttle"


@pytest.fixture
def throttle(h100x8: Ruleset) -> Item:
    return h100x8.items[KEY]


def clock(megahertz: int, utilization: int = 99) -> dict[str, str | int | float | bool]:
    return {"sm_clock": megahertz, "utilization": utilization}


def test_each_loaded_gpu_is_told_as_its_share_of_the_middle_clock(throttle: Item) -> None:
    said = with_shares(throttle, {"gpu0": clock(1500), "gpu1": clock(1500), "gpu2": clock(1350)})

    assert {subject: facts["sm_clock_share"] for subject, facts in said.items()} == {
        "gpu0": 1.0, "gpu1": 1.0, "gpu2": 0.9,
    }  # fmt: skip


def test_an_idle_gpu_has_no_share_and_lowers_nobodys_middle(throttle: Item) -> None:
    said = with_shares(throttle, {"gpu0": clock(1500), "gpu1": clock(345, utilization=0)})

    assert said["gpu0"]["sm_clock_share"] == 1.0
    assert "sm_clock_share" not in said["gpu1"]


@pytest.mark.parametrize("odd", [0, -5, True, "fast"])
def test_a_clock_that_is_no_frequency_has_no_share(throttle: Item, odd: int | str | bool) -> None:
    said = with_shares(throttle, {"gpu0": clock(1500), "gpu1": {"sm_clock": odd, "utilization": 99}})

    assert said["gpu0"]["sm_clock_share"] == 1.0
    assert "sm_clock_share" not in said["gpu1"]


def test_an_item_without_shares_is_left_as_it_was_said(h100x8: Ruleset) -> None:
    said = {"gpu0": clock(1500)}

    assert with_shares(h100x8.items["gpu-temperature"], said) is said


def test_a_clock_in_another_unit_takes_no_part(throttle: Item) -> None:
    facts = [
        Fact(KEY, subject, name, value, unit, NOON)
        for subject, value, unit in (("gpu0", 1500, "MHz"), ("gpu1", 1500000, "kHz"))
        for name, value, unit in (("sm_clock", value, unit), ("utilization", 99, "percent"))
    ]

    assert [(one.subject, one.value) for one in shares_of(throttle, facts)] == [("gpu0", 1.0)]


def told(second: int, clocks: dict[str, int]) -> list[Fact]:
    """Full load on every GPU, nothing wrong but the clocks given."""
    at = NOON + timedelta(seconds=second)
    zero: tuple[int, str] = (0, "microseconds")
    sound: dict[str, tuple[int, str]] = {"hw_thermal": zero, "power_brake": zero, "sw_thermal": zero}
    sound |= {"hw_slowdown_active": (False, "bool"), "utilization": (98, "percent")}
    return [
        Fact(KEY, subject, name, value, unit, at)
        for subject, megahertz in clocks.items()
        for name, (value, unit) in {**sound, "sm_clock": (megahertz, "MHz")}.items()
    ]


def verdicts(rules: Ruleset, reports: list[dict[str, int]]) -> dict[str, Verdict]:
    memory: dict[str, ItemMemory] = {}
    found: dict[str, Verdict] = {}
    for place, clocks in enumerate(reports):
        at = NOON + timedelta(seconds=150 * place)
        rows = measure_covered(rules, KEY, told(150 * place, clocks), [], memory, observed_at=at, boot_id="b")
        memory = {subject: row.memory for subject, row in rows.items()}
        found = {subject: judge(rules.items[KEY], row.value, now=at).verdict for subject, row in rows.items()}
    return found


def eight(slow: int) -> dict[str, int]:
    return {f"gpu{place}": 1485 for place in range(7)} | {"gpu7": slow}


def test_one_slow_gpu_of_eight_warns_once_five_minutes_have_shown_it(h100x8: Ruleset) -> None:
    found = verdicts(h100x8, [eight(1400)] * 3)

    assert found.pop("gpu7") is Verdict.WARN
    assert set(found.values()) == {Verdict.PASS}


def test_five_per_cent_below_the_middle_are_still_within_reach(h100x8: Ruleset) -> None:
    assert set(verdicts(h100x8, [eight(1411)] * 3).values()) == {Verdict.PASS}


def test_one_slow_moment_under_a_power_cap_is_no_slow_gpu(h100x8: Ruleset) -> None:
    assert set(verdicts(h100x8, [eight(1400), eight(1485), eight(1400)]).values()) == {Verdict.PASS}


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"shares": {"part": "live"}}, "must be among the item's facts, with the unit ratio"),
        ({"shares": {"live": "name"}, "facts": {"live": "ratio", "name": "text"}}, "is no number"),
        ({"shares": {"live": "mhz"}, "facts": {"live": "ratio", "mhz": "MHz"}}, "compares loaded GPUs"),
    ],
)
def test_a_share_that_nothing_could_be_a_share_of_is_a_mistake(keys: dict[str, object], complaint: str) -> None:
    _, errors = read(**keys)

    assert any(complaint in error.message for error in errors)
