"""When a change of verdict holds."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.items import Item
from checks.domain.settling import Settled, resettle, settle
from checks.domain.verdicts import Verdict
from tests.domain.building import NOON, item_of

GAP = timedelta(seconds=60)


def after(item: Item, *reports: tuple[int, str], start: Settled | None = None) -> Settled:
    """What has settled after reports of (second, raw verdict)."""
    settled = start
    for second, raw in reports:
        at = NOON + timedelta(seconds=second)
        settled = settle(settled, Verdict(raw), item=item, observed_at=at, min_gap=GAP)
    assert settled is not None
    return settled


PASSED = after(item_of(), (0, "pass"), (60, "pass"), (120, "pass"))


def test_a_tick_item_settles_with_its_third_equal_verdict() -> None:
    assert after(item_of(), (0, "pass"), (60, "pass")).verdict is None
    assert PASSED.verdict is Verdict.PASS


def test_the_first_settled_verdict_is_no_new_epoch_and_a_changed_one_is() -> None:
    failed = after(item_of(), (200, "fail"), (300, "fail"), (400, "fail"), start=PASSED)

    assert not PASSED.epoch_change
    assert (failed.verdict, failed.epoch_change) == (Verdict.FAIL, True)
    assert failed.since == NOON + timedelta(seconds=400)


def test_an_epoch_changes_once() -> None:
    failed = after(item_of(), (200, "fail"), (300, "fail"), (400, "fail"), (500, "fail"), start=PASSED)

    assert (failed.verdict, failed.epoch_change) == (Verdict.FAIL, False)


def test_a_short_failure_settles_nothing_and_leaves_it_unsettled_meanwhile() -> None:
    blip = after(item_of(), (200, "fail"), start=PASSED)
    healed = after(item_of(), (300, "pass"), start=blip)

    assert (blip.verdict, blip.unsettled) == (Verdict.PASS, True)
    assert (healed.verdict, healed.unsettled) == (Verdict.PASS, False)


def test_hardware_faults_settle_at_once() -> None:
    assert after(item_of(settle=1), (200, "fail"), start=PASSED).verdict is Verdict.FAIL


@pytest.mark.parametrize("cadence", ["daily", "offline", "attested", "run"])
def test_any_other_cadence_settles_with_one_measurement(cadence: str) -> None:
    assert after(item_of(cadence=cadence, settle=3), (0, "fail")).verdict is Verdict.FAIL


def test_items_of_a_start_never_settle() -> None:
    assert after(item_of(cadence="start"), (0, "pass"), (100, "pass"), (200, "pass")).verdict is None


def test_a_warning_settles_as_a_pass() -> None:
    assert after(item_of(), (0, "warn"), (60, "pass"), (120, "warn")).verdict is Verdict.PASS


def test_reports_too_soon_after_the_last_counted_one_do_not_count() -> None:
    assert after(item_of(), (0, "fail"), (59, "fail"), (60, "fail"), (119, "fail")).verdict is None
    assert after(item_of(), (0, "fail"), (59, "fail"), (60, "fail"), (120, "fail")).verdict is Verdict.FAIL


@pytest.mark.parametrize(("second", "raw"), [(500, "unknown"), (500, "stale"), (60, "fail"), (120, "fail")])
def test_unknown_stale_and_older_reports_leave_it(second: int, raw: str) -> None:
    assert after(item_of(), (second, raw), start=PASSED) == PASSED


def test_unknown_between_two_verdicts_does_not_end_the_count() -> None:
    assert after(item_of(), (0, "fail"), (60, "unknown"), (120, "fail"), (180, "fail")).verdict is Verdict.FAIL


def test_judging_again_settles_at_once_and_counts_no_report() -> None:
    again = resettle(PASSED, Verdict.FAIL, item=item_of(), at=NOON + timedelta(hours=1))

    assert (again.verdict, again.epoch_change, again.counted_at) == (Verdict.FAIL, True, PASSED.counted_at)
    assert resettle(PASSED, Verdict.UNKNOWN, item=item_of(), at=NOON) == PASSED


REPORTS = st.lists(st.tuples(st.integers(0, 3000), st.sampled_from(Verdict)), max_size=20)


@given(REPORTS)
def test_it_never_settles_on_what_was_not_measured(reports: list[tuple[int, Verdict]]) -> None:
    settled = after(item_of(), *reports, start=Settled())

    assert settled.verdict in (None, Verdict.PASS, Verdict.FAIL, Verdict.NA)
    assert settled.verdict is None or sum(raw in _as(settled.verdict) for _, raw in reports) >= 3


def _as(verdict: Verdict) -> set[Verdict]:
    return {Verdict.PASS, Verdict.WARN} if verdict is Verdict.PASS else {verdict}
