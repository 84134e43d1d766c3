"""What a counter gained between reports."""

from hypothesis import given
from hypothesis import strategies as st

from checks.domain.counting import gain
from checks.domain.items import Item
from checks.domain.verdicts import Reason, Verdict
from tests.domain.building import Subject, item_of

COUNT = st.integers(min_value=0, max_value=2**63)


def counter(threshold: int = 0, window: str | None = None) -> Item:
    criterion = {"fact": "drops", "operator": "delta_over", "threshold": threshold}
    return item_of(facts={"drops": "packets"}, criteria=[criterion | ({"window": window} if window else {})])


def test_a_counter_that_stands_still_passes_and_one_that_grows_fails() -> None:
    row = Subject(counter())
    row.report(0, drops=7)

    assert row.report(300, drops=7).verdict is Verdict.PASS
    assert row.report(600, drops=8).detail == "drops 1 packets gained, needs ≤ 0"


def test_a_counter_at_zero_needs_no_second_sample() -> None:
    assert Subject(counter()).report(0, drops=0).verdict is Verdict.PASS


def test_the_first_sample_of_a_counter_that_ever_counted_is_unknown() -> None:
    judgement = Subject(counter()).report(0, drops=7)

    assert (judgement.verdict, judgement.reason) == (Verdict.UNKNOWN, Reason.NOT_MEASURED)


def test_a_counter_that_goes_back_was_reset_and_is_no_negative_traffic() -> None:
    row = Subject(counter(threshold=5))
    row.report(0, drops=100)

    assert row.report(300, drops=3).verdict is Verdict.PASS
    assert row.report(600, boot="boot-2", drops=2).verdict is Verdict.PASS


def test_what_was_counted_since_a_reset_counts() -> None:
    row = Subject(counter())
    row.report(0, drops=100)

    assert row.report(300, boot="boot-2", drops=3).verdict is Verdict.FAIL


def test_after_a_reboot_a_counter_that_may_have_survived_it_is_unknown_for_one_report() -> None:
    row = Subject(counter())
    row.report(0, drops=7)

    assert row.report(300, boot="boot-2", drops=7).verdict is Verdict.UNKNOWN
    assert row.report(600, boot="boot-2", drops=7).verdict is Verdict.PASS


def test_a_sample_that_was_missed_loses_no_gain() -> None:
    row = Subject(counter())
    row.report(0, drops=0)
    row.report(300)

    assert row.report(600, drops=4).verdict is Verdict.FAIL


def test_gains_add_up_over_a_time_span_and_leave_it_again() -> None:
    row = Subject(counter(threshold=2, window="3h"))
    row.report(0, drops=0)
    row.report(300, drops=2)

    assert row.report(600, drops=3).verdict is Verdict.FAIL
    assert row.report(4 * 3600, drops=3).verdict is Verdict.PASS


@given(st.none() | COUNT, COUNT, st.booleans())
def test_a_gain_is_never_negative_and_its_bounds_are_in_order(before: int | None, now: int, same_boot: bool) -> None:
    least, most = gain(before, now, same_boot=same_boot)

    assert 0 <= least <= most <= now
