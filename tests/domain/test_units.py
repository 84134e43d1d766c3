"""Which values are numbers at all."""

import math

import pytest

from checks.domain.errors import UnitMismatch
from checks.domain.units import Unit, as_number, fits


@pytest.mark.parametrize("value", [10**309, -(10**4000), math.inf, math.nan])
def test_a_number_that_no_measurement_gives_fits_no_unit(value: float) -> None:
    assert not fits(value, Unit.COUNT)


def test_the_largest_counter_of_64_bits_is_a_number() -> None:
    assert fits(2**64 - 1, Unit.COUNT)
    assert as_number(2**64 - 1) == 2**64 - 1


def test_what_is_not_a_number_has_no_order() -> None:
    with pytest.raises(UnitMismatch):
        as_number(math.nan)
