"""The portal's own state."""

from datetime import datetime, timedelta

import pytest

from checks.models import BreakerTrip, Heartbeat, LedgerWatch, Notice
from checks.services.heartbeats import note_alive
from tests.fleet import Fleet
from tests.ui.conftest import Sight


def test_every_part_alive_is_a_yes_and_a_silent_one_a_no(sight: Sight, now: datetime) -> None:
    for name in ("worker", "beat", "sweep"):
        note_alive(name=name, now=now)
    assert "Worker, beat and sweep answer" in sight.text("/status")
    Heartbeat.objects.filter(name="beat").update(at=now - timedelta(hours=1))
    page = sight.text("/status")
    assert "Needs a hand: Beat" in page
    assert "Silent: Beat" in page


def test_a_part_that_never_lived_is_silent_and_not_missing(sight: Sight) -> None:
    page = sight.text("/status")
    assert page.count("silent") >= 3
    assert "never" in page


def test_an_open_breaker_of_one_s_own_cluster_is_shown(sight: Sight, fleet: Fleet, now: datetime) -> None:
    BreakerTrip.objects.create(
        cluster=fleet.cluster, item="gpu-ecc", tripped_at=now, last_flip_at=now, nodes=3, of_nodes=4
    )
    page = sight.text("/status")
    assert "Circuit breakers" in page
    assert "3 / 4" in page


def watched(outcome: str, *, at: datetime, detail: str = "") -> None:
    """What the last look at the chain found."""
    LedgerWatch.objects.create(name="chain", at=at, good_at=None, outcome=outcome, detail=detail)


@pytest.mark.parametrize(
    ("outcome", "headline"),
    [
        ("broken", "The ledger is not what was written."),
        ("back", "The database was rolled back: acts that an anchor knows are missing."),
    ],
)
def test_a_ledger_that_is_not_whole_is_shouted_on_board_and_status(
    sight: Sight, now: datetime, outcome: str, headline: str
) -> None:
    watched(outcome, at=now, detail="Entry 7 was changed after it was written.")
    board = sight.text("/")

    assert headline in board
    assert "Entry 7 was changed after it was written." in board
    assert "Entry 7 was changed after it was written." in sight.text("/status")


def test_an_anchor_older_than_36_hours_is_shouted_on_the_board(sight: Sight, now: datetime) -> None:
    old = now - timedelta(hours=37)
    LedgerWatch.objects.create(name="database", at=now, good_at=old, outcome="failed", detail="The disk is full.")
    board = sight.text("/")

    assert "For more than 36 hours the ledger was not verified, or its end was not told outside." in board
    assert "The disk is full." in board


def test_a_ledger_that_was_looked_at_is_told_as_alive(sight: Sight, now: datetime) -> None:
    for name in ("chain", "database"):
        LedgerWatch.objects.create(name=name, at=now, good_at=now, outcome="ok")
    page = sight.text("/status")

    assert "Anchor: the database itself" in page
    assert "not told" not in page
    assert "The ledger" not in sight.text("/")


def test_a_place_that_took_no_anchor_says_why_on_the_status_page(sight: Sight, now: datetime) -> None:
    LedgerWatch.objects.create(name="database", at=now, good_at=now, outcome="failed", detail="The disk is full.")
    page = sight.text("/status")

    assert "The disk is full." in page
    assert "not told" in page


def test_a_destination_that_refuses_notices_stands_there_with_its_reason(sight: Sight, now: datetime) -> None:
    Notice.objects.create(
        key="entry:1", place="Slack (helios)", place_key="ab", title="t", body="b", created_at=now, due_at=now,
        attempts=1, error="Slack (helios): error=503",
    )  # fmt: skip
    page = sight.text("/status")

    assert "Notices: Slack (helios)" in page
    assert "error=503" in page
    assert "1 waiting, 0 given up" in page
