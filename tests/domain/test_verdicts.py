"""How verdicts roll up."""

from hypothesis import given
from hypothesis import strategies as st

from checks.domain.verdicts import Verdict, worst

SOME = st.lists(st.sampled_from(Verdict), min_size=1)


def test_the_worst_verdict_is_in_the_order_of_the_design() -> None:
    order = ["fail", "unknown", "stale", "waived", "warn", "pass", "na"]

    assert [worst(Verdict(one) for one in order[place:]) for place in range(len(order))] == order


def test_nothing_to_roll_up_is_unknown() -> None:
    assert worst([]) is Verdict.UNKNOWN


@given(SOME, SOME)
def test_a_group_of_groups_is_as_bad_as_all_its_members(one: list[Verdict], other: list[Verdict]) -> None:
    assert worst([worst(one), worst(other)]) is worst(one + other) is worst(other + one)


@given(SOME)
def test_unknown_and_stale_never_roll_up_into_something_good(verdicts: list[Verdict]) -> None:
    hides = worst(verdicts) in (Verdict.PASS, Verdict.WARN, Verdict.NA, Verdict.WAIVED)

    assert not (hides and {Verdict.UNKNOWN, Verdict.STALE, Verdict.FAIL} & set(verdicts))
