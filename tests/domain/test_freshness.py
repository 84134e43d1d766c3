"""How long evidence counts."""

from datetime import timedelta

import pytest

from checks.domain.freshness import is_stale, stale_after, valid_until
from checks.domain.verdicts import Cadence
from tests.domain.building import NOON, item_of

FIVE_MINUTES = timedelta(minutes=5)


@pytest.mark.parametrize(
    ("cadence", "limit"),
    [
        ("tick", timedelta(minutes=15)),
        ("daily", timedelta(hours=36)),
        ("offline", timedelta(days=7)),
        ("attested", timedelta(days=30)),
        ("start", timedelta(minutes=15)),
        ("run", None),
    ],
)
def test_each_cadence_has_its_limit(cadence: str, limit: timedelta | None) -> None:
    assert stale_after(Cadence(cadence), FIVE_MINUTES) == limit


def test_an_item_may_state_its_own_limit() -> None:
    assert stale_after(Cadence.OFFLINE, FIVE_MINUTES, item_of(valid_for="30d")) == timedelta(days=30)


def test_tick_evidence_of_noon_counts_at_a_quarter_past_and_no_second_later() -> None:
    until = valid_until(NOON, Cadence.TICK, FIVE_MINUTES)

    assert not is_stale(until, NOON + timedelta(minutes=15))
    assert is_stale(until, NOON + timedelta(minutes=15, seconds=1))


def test_evidence_of_a_run_does_not_age() -> None:
    assert not is_stale(valid_until(NOON, Cadence.RUN, FIVE_MINUTES), NOON + timedelta(days=400))
