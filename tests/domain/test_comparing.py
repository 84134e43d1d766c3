"""One value against one threshold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.comparing import compare
from checks.domain.errors import UnitMismatch
from checks.domain.items import Operator
from checks.domain.units import Scalar, Threshold

MET = [
    ("eq", 5, 5.0), ("eq", "unlimited", "unlimited"), ("ne", "noatime", "relatime"), ("lt", 4, 5), ("le", 5, 5),
    ("gt", "unlimited", 9_223_372_036_854_775_807), ("ge", 65535, 65535), ("in", "noatime", ("noatime", "relatime")),
    ("not_in", 3, (1, 2)), ("bitmask", 0b0100, 0b1010), ("eq", False, False),
]  # fmt: skip
MISSED = [
    ("eq", 5, 6), ("ne", 1, 1), ("lt", 5, 5), ("le", "unlimited", 5), ("gt", 5, 5), ("ge", 4096, 65535),
    ("in", "strictatime", ("noatime", "relatime")), ("not_in", 1, (1, 2)), ("bitmask", 0b0110, 0b0010),
]  # fmt: skip
UNLIKE = [("eq", 1, True), ("eq", "5", 5), ("lt", "many", 5), ("ge", True, 0), ("in", 1, ("a",)), ("bitmask", 1.5, 1)]


@pytest.mark.parametrize(("operator", "measured", "threshold"), MET)
def test_a_value_meets_its_threshold(operator: str, measured: Scalar, threshold: Threshold) -> None:
    assert compare(Operator(operator), measured, threshold)


@pytest.mark.parametrize(("operator", "measured", "threshold"), MISSED)
def test_a_value_misses_its_threshold(operator: str, measured: Scalar, threshold: Threshold) -> None:
    assert not compare(Operator(operator), measured, threshold)


@pytest.mark.parametrize(("operator", "measured", "threshold"), UNLIKE)
def test_unlike_kinds_are_never_compared(operator: str, measured: Scalar, threshold: Threshold) -> None:
    with pytest.raises(UnitMismatch):
        compare(Operator(operator), measured, threshold)


def test_a_bitmask_of_unlimited_has_no_bits() -> None:
    with pytest.raises(UnitMismatch):
        compare(Operator.BITMASK, "unlimited", 1)


@given(st.integers(), st.integers(), st.integers(min_value=0))
def test_a_looser_threshold_never_turns_met_into_missed(measured: int, threshold: int, looser_by: int) -> None:
    if compare(Operator.GE, measured, threshold):
        assert compare(Operator.GE, measured, threshold - looser_by)
    if compare(Operator.LT, measured, threshold):
        assert compare(Operator.LT, measured, threshold + looser_by)
