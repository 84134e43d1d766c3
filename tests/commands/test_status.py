"""``manage.py status`` as a container's health check, and ``manage.py breaker``."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from checks.models import BreakerTrip, LedgerEntry, LedgerWatch
from checks.services.heartbeats import note_alive
from tests.lab import lab
from tests.people import person

pytestmark = pytest.mark.django_db


def manage(*arguments: str) -> str:
    said = StringIO()
    call_command(*arguments, stdout=said)
    return said.getvalue()


def all_alive(*, worker_age_s: int = 0) -> None:
    """Signs of life of now, the worker's older."""
    now = timezone.now()
    for name in ("beat", "sweep"):
        note_alive(name=name, now=now)
    note_alive(name="worker", now=now - timedelta(seconds=worker_age_s))


def test_a_portal_that_lives_exits_zero_and_tells_ages() -> None:
    all_alive(worker_age_s=90)

    said = manage("status")

    assert "worker     amber 9" in said
    assert "beat       ok" in said


def test_a_worker_silent_for_more_than_two_minutes_is_red() -> None:
    all_alive(worker_age_s=121)

    with pytest.raises(CommandError, match="Red: worker"):
        manage("status")


def test_a_health_check_of_beat_does_not_fail_for_the_worker() -> None:
    all_alive(worker_age_s=500)

    assert "worker     red" in manage("status", "--only", "beat")


def test_what_never_lived_is_red() -> None:
    with pytest.raises(CommandError, match="Red: worker, beat, sweep"):
        manage("status")


def trip() -> BreakerTrip:
    now = timezone.now()
    return BreakerTrip.objects.create(
        cluster=lab(), item="sysctl-somaxconn", tripped_at=now, last_flip_at=now, nodes=5, of_nodes=8
    )


def test_an_open_breaker_is_listed_and_a_person_ends_it_with_a_reason() -> None:
    trip()
    person("ada")
    assert "lab sysctl-somaxconn 5 of 8 nodes" in manage("breaker", "list")

    manage("breaker", "end", "lab", "sysctl-somaxconn", "--by", "ada", "--reason", "new image really lost it")

    assert manage("breaker", "list") == ""
    assert LedgerEntry.objects.filter(what="breaker_ended", who__username="ada").count() == 1


@pytest.mark.parametrize(
    ("item", "by", "sentence"),
    [("gpu-ecc", "ada", "No breaker is open"), ("sysctl-somaxconn", "bob", "no active person 'bob'")],
)
def test_a_breaker_or_person_that_is_not_there_is_told_in_one_sentence(item: str, by: str, sentence: str) -> None:
    trip()
    person("ada")

    with pytest.raises(CommandError, match=sentence):
        manage("breaker", "end", "lab", item, "--by", by, "--reason", "why not")


@pytest.mark.parametrize("outcome", ["broken", "back"])
def test_a_ledger_that_is_not_whole_is_red_and_names_what_is_wrong(outcome: str) -> None:
    all_alive()
    LedgerWatch.objects.create(name="chain", at=timezone.now(), outcome=outcome, detail="Entry 7 was changed.")
    said = StringIO()

    with pytest.raises(CommandError, match="Red: ledger"):
        call_command("status", stdout=said)
    assert "ledger     red   not yet; Entry 7 was changed." in said.getvalue()


def test_a_health_check_of_the_worker_does_not_fail_for_the_ledger() -> None:
    all_alive()
    LedgerWatch.objects.create(name="chain", at=timezone.now(), outcome="broken")

    assert "ledger     red" in manage("status", "--only", "worker")
