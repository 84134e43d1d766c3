"""What tests of the API share."""

from typing import Any

import pytest
import time_machine

from tests.lab import NOON

pytest.register_assert_rewrite("tests.api.run_lab")


@pytest.fixture
def at_noon() -> Any:
    """Every question is asked at noon, unless the test moves the clock."""
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock
