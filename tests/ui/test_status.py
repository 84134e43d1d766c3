"""The portal's own state."""

from datetime import datetime, timedelta

from checks.models import BreakerTrip, Heartbeat
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
