"""The circuit breaker, and when a node may be drained."""

from datetime import timedelta

import pytest

from checks.domain.breaker import FailFlip, drain_allowed, ends_at, trips
from tests.domain.building import NOON


def flips(count: int, minutes_ago: float = 1, nodes: int | None = None) -> list[FailFlip]:
    return [FailFlip(f"gpu{n % (nodes or count)}", NOON - timedelta(minutes=minutes_ago)) for n in range(count)]


@pytest.mark.parametrize(
    ("failed", "nodes", "opens"), [(4, 8, True), (4, 9, False), (3, 3, False), (256, 512, True), (255, 512, False)]
)
def test_it_opens_at_half_of_the_nodes_and_four_at_least(failed: int, nodes: int, opens: bool) -> None:
    assert trips(flips(failed), nodes=nodes, now=NOON) is opens


def test_flips_more_than_ten_minutes_ago_do_not_count() -> None:
    assert trips(flips(4, minutes_ago=10), nodes=8, now=NOON)
    assert not trips(flips(4, minutes_ago=10.1), nodes=8, now=NOON)


def test_one_node_that_flips_four_times_is_one_node() -> None:
    assert not trips(flips(4, nodes=1), nodes=4, now=NOON)


def test_it_ends_thirty_minutes_after_the_last_flip() -> None:
    assert ends_at(NOON) == NOON + timedelta(minutes=30)


@pytest.mark.parametrize(
    ("tripped", "swept_s_ago", "failing_s", "allowed"),
    [(False, 119, 121, True), (True, 0, 500, False), (False, 120, 500, False), (False, 0, 120, False)],
)
def test_a_drain_needs_no_breaker_a_recent_sweep_and_a_lasting_failure(
    tripped: bool, swept_s_ago: int, failing_s: int, allowed: bool
) -> None:
    swept_at, failing_since = NOON - timedelta(seconds=swept_s_ago), NOON - timedelta(seconds=failing_s)

    assert drain_allowed(tripped=tripped, swept_at=swept_at, failing_since=failing_since, now=NOON) is allowed


def test_a_sweep_that_never_ran_allows_no_drain() -> None:
    assert not drain_allowed(tripped=False, swept_at=None, failing_since=NOON - timedelta(hours=1), now=NOON)
