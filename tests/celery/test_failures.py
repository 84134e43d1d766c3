"""Workers, beats and the broker come in twos, die in the middle and come back: work is done, and done once."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from checks.dispatch import enqueue
from checks.models import Gap, Heartbeat, Outbox
from portal.quickstart.valkey import ValkeyServer
from tests.celery.conftest import StartProgram, wait_until
from tests.celery.test_worker import WORKER, quiet_node

pytestmark = pytest.mark.valkey

BEAT = ("beat", "--pidfile=", "--loglevel=INFO")
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%checks_gap%'"


@pytest.fixture
def valkey() -> Iterator[ValkeyServer]:
    """A Valkey of this test's own, which it may stop."""
    with tempfile.TemporaryDirectory(prefix="countersign-tests-") as place:
        server = ValkeyServer(Path(place) / "valkey", log=Path(place) / "valkey.log")
        server.start()
        yield server
        server.stop()


def enqueue_now(*tasks: str) -> list[Outbox]:
    with transaction.atomic():
        return [enqueue(task, now=timezone.now()) for task in tasks]


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return bool(cursor.fetchone()[0])


def kill_all(worker: "subprocess.Popen[bytes]") -> None:
    """As a machine that loses its power ends a worker: the one that leads and those that work, at once."""
    children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text(encoding="ascii").split()
    for pid in (worker.pid, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    worker.wait(10)


def test_two_workers_and_two_beats_do_each_thing_once(start_celery: StartProgram) -> None:
    quiet_node()
    rows = enqueue_now(*["checks.sweep_gaps"] * 20, "checks.note_worker_alive")

    for arguments in (WORKER, WORKER, BEAT, BEAT):
        start_celery(*arguments)

    wait_until(lambda: Heartbeat.objects.filter(name="worker").exists(), "a sign of life")
    wait_until(lambda: Heartbeat.objects.filter(name="beat").exists(), "beat's sign of life")
    wait_until(lambda: Gap.objects.exists(), "the sweep")
    wait_until(lambda: not Outbox.objects.filter(sent_at=None).exists(), "everything being sent")
    assert set(Outbox.objects.filter(pk__in=[row.pk for row in rows]).values_list("attempts", flat=True)) == {1}
    assert Gap.objects.filter(cadence="tick").count() == 1


def test_a_task_whose_worker_is_killed_in_the_middle_is_done_once_by_the_next(
    start_celery: StartProgram, connect_as: Callable[[str], psycopg.Connection]
) -> None:
    quiet_node()
    holder = connect_as("owner")
    holder.execute("LOCK TABLE checks_gap IN ACCESS EXCLUSIVE MODE")
    worker = start_celery(*WORKER)
    enqueue_now("checks.sweep_gaps")
    wait_until(waits_for_a_lock, "the sweep being in the middle")

    kill_all(worker)
    holder.rollback()
    start_celery(*WORKER)
    enqueue_now("checks.sweep_gaps")  # as beat does each minute: the row says what is due, not the message

    wait_until(lambda: Heartbeat.objects.filter(name="sweep").exists(), "the sweep")
    assert Gap.objects.filter(cadence="tick").count() == 1


def test_what_is_due_while_the_broker_is_away_is_done_when_it_is_back(
    start_celery: StartProgram, valkey: ValkeyServer
) -> None:
    start_celery(*WORKER)
    enqueue_now("checks.note_worker_alive")
    wait_until(lambda: Heartbeat.objects.filter(name="worker").exists(), "the first task")
    Heartbeat.objects.all().delete()

    valkey.child.stop()
    (row,) = enqueue_now("checks.note_worker_alive")
    wait_until(lambda: Outbox.objects.get(pk=row.pk).error != "", "the sender being refused")
    assert Outbox.objects.get(pk=row.pk).sent_at is None
    valkey.start()

    wait_until(lambda: Heartbeat.objects.filter(name="worker").exists(), "the task")
