"""Values that must not be held for too long."""

from hypothesis import given
from hypothesis import strategies as st

from checks.domain.holding import climb
from checks.domain.items import Item, Operator
from checks.domain.memory import Step
from checks.domain.verdicts import Verdict
from tests.domain.building import Subject, item_of


def hot(threshold: int = 85, compare: str = "gt") -> Item:
    criterion = {"fact": "temperature", "operator": "sustained", "compare": compare, "for": "5m"}
    return item_of(facts={"temperature": "celsius"}, criteria=[criterion | {"threshold": threshold}])


def test_heat_fails_only_after_five_minutes_on_end() -> None:
    row = Subject(hot())

    assert [row.report(second, temperature=86).verdict for second in (0, 100, 299)] == ["pass"] * 3
    assert row.report(300, temperature=86).verdict is Verdict.FAIL


def test_one_cool_sample_starts_the_five_minutes_anew() -> None:
    row = Subject(hot())
    for second, temperature in ((0, 90), (200, 80), (250, 90), (500, 90)):
        assert row.report(second, temperature=temperature).verdict is Verdict.PASS

    assert row.report(550, temperature=90).verdict is Verdict.FAIL


def test_a_reboot_starts_it_anew() -> None:
    row = Subject(hot())
    row.report(0, temperature=90)

    assert row.report(300, boot="boot-2", temperature=90).verdict is Verdict.PASS


def test_nothing_is_known_over_a_gap_longer_than_any_interval() -> None:
    row = Subject(hot())
    row.report(0, temperature=90)

    assert row.report(3601, temperature=90).verdict is Verdict.PASS


def test_too_low_for_too_long_fails_as_well() -> None:
    row = Subject(hot(threshold=10, compare="lt"))
    row.report(0, temperature=9)

    assert row.report(300, temperature=9).verdict is Verdict.FAIL


def test_a_level_is_judged_again_under_another_threshold() -> None:
    row, stricter = Subject(hot()), Subject(hot(threshold=70))
    for second in (0, 150, 300):
        row.report(second, temperature=75)

    assert row.measured is not None
    assert row.measured.value["held"] == {"temperature:sustained:gt:300s": [75]}
    stricter.memory = row.memory
    assert stricter.report(450, temperature=75).verdict is Verdict.FAIL


SAMPLES = st.lists(st.tuples(st.integers(1, 200), st.integers(20, 100)), min_size=1, max_size=30)


@given(SAMPLES)
def test_a_staircase_knows_the_lowest_value_since_any_of_its_steps(samples: list[tuple[int, int]]) -> None:
    at, seen, steps = 0, [], list[Step]()
    for gap, value in samples:
        at += gap
        seen.append((at, value))
        steps = climb(steps, Operator.GT, at, value)

    for step in steps:
        assert step["level"] == min(value for when, value in seen if when >= step["since"])
    assert [step["level"] for step in steps] == sorted({step["level"] for step in steps})
