"""What lives in worker and beat beside their tasks: the outbox sender, and beat's own sign of life."""

from threading import Event, Thread
from typing import Any

import structlog
from celery.signals import beat_init, before_task_publish, worker_ready
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection
from django.utils import timezone
from kombu.exceptions import OperationalError

from checks.dispatch import CHANNEL
from checks.services.heartbeats import note_alive
from checks.services.outbox import BATCH, BrokerAway, send_due
from portal.celery import app

# Without a notification the sender looks this often: a missed one, or a row whose wait is over, is not late for long.
LOOK_EVERY_S = 5.0
FIRST_SIGNS = ("checks.note_worker_alive", "checks.sweep_gaps")
log = structlog.get_logger(__name__)


@worker_ready.connect
def start_sender(**_: Any) -> None:
    """Send outbox rows from a thread of this process until it ends."""
    Thread(target=send_for_ever, args=(Event(),), name="outbox-sender", daemon=True).start()


@beat_init.connect
def begin_beat(**_: Any) -> None:
    """The same in beat, which also asks at once for what would else be silent for its first period."""
    Thread(target=_ask_for_first_signs, name="first-signs", daemon=True).start()
    start_sender()


@before_task_publish.connect(sender="checks.note_worker_alive")
def note_beat_alive(**_: Any) -> None:
    """Beat lives as long as it publishes; written before the broker is asked, so that one stuck there grows old."""
    close_old_connections()
    note_alive(name="beat", now=timezone.now())


def send_for_ever(stop: Event) -> None:
    """Send what is due, wait for a notification or ``LOOK_EVERY_S``, again; outlives a restart of the database."""
    while not stop.is_set():
        try:
            _listen_and_send(stop)
        except DatabaseError as error:
            log.warning("outbox.database_away", error=str(error))
            stop.wait(LOOK_EVERY_S)
        finally:
            connection.close()


def publish(task: str, args: list[int | str]) -> None:
    """Hand one task to the broker, trying once.

    Raises:
        BrokerAway: it refused, or did not answer within its time-out.
    """
    try:
        app.send_task(task, args=args, retry=False)
    except (OperationalError, OSError) as error:
        raise BrokerAway(str(error)) from error


def _ask_for_first_signs() -> None:
    for task in FIRST_SIGNS:
        try:
            publish(task, [])
        except BrokerAway as error:
            log.warning("beat.broker_away", task=task, error=str(error))
    connection.close()


def _listen_and_send(stop: Event) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {CHANNEL}")
    while not stop.is_set():
        sending = send_due(publish=publish, now=timezone.now())
        if sending.error:
            log.warning("outbox.broker_away", error=sending.error, sent=sending.sent)
        if sending.sent < BATCH:
            _wait_for_notification()


def _wait_for_notification() -> None:
    with connection.wrap_database_errors:
        for _ in connection.connection.notifies(timeout=LOOK_EVERY_S, stop_after=1):
            pass
