"""Whether a kernel setting outlives a reboot."""

import pytest

from checks.domain.items import Item
from checks.domain.units import Scalar
from checks.domain.verdicts import Reason, Verdict
from tests.domain.building import Subject, item_of, judged


def setting(kernel_default: int | str = 1000) -> Item:
    survives = {"fact": "configured", "operator": "survives", "compare": "ge", "threshold": 5000}
    return item_of(
        facts={"live": "packets", "configured": "packets", "configured_state": "text"},
        criteria=[
            {"fact": "live", "operator": "ge", "threshold": 5000},
            survives | {"kernel_default": kernel_default},
        ],
    )


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({"live": 5000, "configured_state": "set", "configured": 5000}, "pass"),
        ({"live": 5000, "configured_state": "set", "configured": 1000}, "fail"),
        ({"live": 1000, "configured_state": "set", "configured": 5000}, "fail"),
        ({"live": 5000, "configured_state": "set"}, "unknown"),
        ({"live": 5000, "configured_state": "unset"}, "warn"),
        ({"live": 5000}, "unknown"),
        ({"live": 1000}, "fail"),
        ({}, "unknown"),
    ],
)
def test_a_setting_is_judged_by_what_sets_it_at_boot(facts: dict[str, Scalar], verdict: str) -> None:
    assert judged(setting(), **facts).verdict == verdict


def test_a_good_value_whose_files_were_not_captured_is_unknown_for_that_reason() -> None:
    assert judged(setting(), live=5000).reason is Reason.NOT_CAPTURED


def test_the_kernels_own_good_default_needs_no_file() -> None:
    assert judged(setting(kernel_default=8192), live=8192).verdict is Verdict.PASS
    assert judged(setting(kernel_default=8192), live=9000).verdict is Verdict.UNKNOWN
    assert judged(setting(kernel_default=8192), live=9000, configured_state="unset").verdict is Verdict.PASS


def test_a_default_that_the_kernel_computes_is_the_live_value() -> None:
    assert judged(setting(kernel_default="live"), live=26396503).verdict is Verdict.PASS
    assert judged(setting(kernel_default="live"), live=4096).verdict is Verdict.FAIL


def test_a_value_seen_good_under_two_boots_needs_no_file() -> None:
    row = Subject(setting())

    assert row.report(0, boot="a", live=5000, configured_state="unset").verdict is Verdict.WARN
    assert row.report(300, boot="a", live=5000, configured_state="unset").verdict is Verdict.WARN
    assert row.report(600, boot="b", live=5000, configured_state="unset").verdict is Verdict.PASS


def test_a_boot_with_a_bad_value_proves_nothing() -> None:
    row = Subject(setting())
    row.report(0, boot="a", live=1000, configured_state="unset")

    assert row.report(300, boot="b", live=5000, configured_state="unset").verdict is Verdict.WARN
