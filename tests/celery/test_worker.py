"""From an outbox row to its effect, through a real broker and a real worker."""

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import transaction
from django.utils import timezone

from checks.dispatch import enqueue
from checks.models import Cluster, Gap, Heartbeat, Node, NodeReadiness, Outbox
from tests.celery.conftest import StartProgram, wait_until

pytestmark = pytest.mark.valkey

WORKER = ("worker", "--pool=prefork", "--concurrency=1", "--loglevel=INFO", "--without-gossip", "--without-mingle")


def quiet_node() -> None:
    """A node whose evidence ended an hour ago, so that a sweep has something to write."""
    now = timezone.now()
    cluster = Cluster.objects.create(slug="lab", profile="8xh200")
    node = Node.objects.create(cluster=cluster, hostname="gpu001", enrolled_at=now - timedelta(days=1))
    NodeReadiness.objects.create(
        node=node, cluster=cluster, tick_until=now - timedelta(hours=1), daily_until=now + timedelta(days=1)
    )


def test_a_task_in_the_outbox_runs_and_running_it_twice_changes_nothing_more(start_celery: StartProgram) -> None:
    quiet_node()
    with transaction.atomic():
        enqueue("checks.sweep_gaps", now=timezone.now())
        enqueue("checks.sweep_gaps", now=timezone.now())
        enqueue("checks.note_worker_alive", now=timezone.now())

    start_celery(*WORKER)

    wait_until(lambda: Heartbeat.objects.filter(name="worker").exists(), "the last task of the queue")
    assert not Outbox.objects.filter(sent_at=None).exists()
    assert Gap.objects.filter(cadence="tick").count() == 1


def test_an_act_while_the_worker_waits_wakes_its_sender(start_celery: StartProgram) -> None:
    start_celery(*WORKER)
    with transaction.atomic():
        enqueue("checks.note_worker_alive", now=timezone.now())
    wait_until(lambda: Heartbeat.objects.filter(name="worker").exists(), "the first task")
    Heartbeat.objects.all().delete()

    with transaction.atomic():
        row = enqueue("checks.note_worker_alive", now=timezone.now())

    wait_until(lambda: Heartbeat.objects.filter(name="worker").exists(), "the second task")
    assert Outbox.objects.get(pk=row.pk).attempts == 1


def test_a_worker_process_killed_in_the_middle_is_replaced_and_work_goes_on(start_celery: StartProgram) -> None:
    worker = start_celery(*WORKER)
    with transaction.atomic():
        enqueue("checks.note_worker_alive", now=timezone.now())
    wait_until(lambda: Heartbeat.objects.filter(name="worker").exists(), "the first task")
    os.kill(_only_child_of(worker.pid), signal.SIGKILL)
    Heartbeat.objects.all().delete()

    with transaction.atomic():
        enqueue("checks.note_worker_alive", now=timezone.now())

    wait_until(lambda: Heartbeat.objects.filter(name="worker").exists(), "a task after the kill")


def test_beat_sends_the_outbox_too_and_leaves_its_own_sign_of_life(start_celery: StartProgram) -> None:
    with transaction.atomic():
        row = enqueue("checks.purge_outbox", now=timezone.now())

    start_celery("beat", "--pidfile=", "--loglevel=INFO")

    wait_until(lambda: Outbox.objects.get(pk=row.pk).sent_at is not None, "the row being sent by beat")
    wait_until(lambda: Heartbeat.objects.filter(name="beat").exists(), "beat's heartbeat")


def _only_child_of(pid: int) -> int:
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return int(child)
