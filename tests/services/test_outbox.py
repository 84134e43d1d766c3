"""The outbox: nothing is lost, nothing is sent by two senders at once, and a rolled-back act sends nothing."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.db.transaction import TransactionManagementError

from checks.dispatch import CHANNEL, enqueue
from checks.models import Outbox
from checks.services.outbox import BATCH, LEASE, BrokerAway, claim_due, purge_sent, send_due

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Broker:
    """Takes messages until told to refuse; remembers what it took."""

    def __init__(self, accepts: int = 10_000) -> None:
        self.accepts = accepts
        self.taken: list[tuple[str, list[int | str]]] = []

    def publish(self, task: str, args: list[int | str]) -> None:
        if len(self.taken) >= self.accepts:
            raise BrokerAway("connection refused")
        self.taken.append((task, args))


def put(count: int) -> None:
    with transaction.atomic():
        for number in range(count):
            enqueue("checks.sweep_gaps", number, now=NOON)


@pytest.mark.django_db
def test_an_act_that_rolls_back_leaves_no_task_behind() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        enqueue("checks.sweep_gaps", now=NOON)
        raise ZeroDivisionError

    assert not Outbox.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_enqueuing_outside_the_acts_transaction_is_refused() -> None:
    with pytest.raises(TransactionManagementError, match="inside the transaction of the act"):
        enqueue("checks.sweep_gaps", now=NOON)


@pytest.mark.django_db(transaction=True)
def test_a_listening_sender_hears_of_a_row_when_its_act_commits(
    connect_as: Callable[[str], psycopg.Connection],
) -> None:
    """Red without ``pg_notify`` in ``checks.dispatch.enqueue``."""
    listener = connect_as("app")
    listener.autocommit = True
    listener.execute(f"LISTEN {CHANNEL}")

    put(1)

    assert [heard.channel for heard in listener.notifies(timeout=5, stop_after=1)] == [CHANNEL]


@pytest.mark.django_db
def test_what_is_due_is_sent_once_in_the_order_it_was_written() -> None:
    put(3)
    broker = Broker()

    assert send_due(publish=broker.publish, now=NOON).sent == 3
    assert send_due(publish=broker.publish, now=NOON + timedelta(days=1)).sent == 0
    assert broker.taken == [("checks.sweep_gaps", [0]), ("checks.sweep_gaps", [1]), ("checks.sweep_gaps", [2])]


@pytest.mark.django_db
def test_one_round_takes_no_more_than_a_batch() -> None:
    put(BATCH + 1)

    assert send_due(publish=Broker().publish, now=NOON).sent == BATCH


@pytest.mark.django_db
def test_a_broker_that_goes_away_keeps_the_rest_due_and_says_why() -> None:
    put(3)

    sending = send_due(publish=Broker(accepts=1).publish, now=NOON)

    assert (sending.sent, sending.error) == (1, "connection refused")
    unsent = Outbox.objects.filter(sent_at=None)
    assert set(unsent.values_list("claimed_until", "error")) == {(None, "connection refused")}
    assert send_due(publish=Broker().publish, now=NOON + timedelta(seconds=61)).sent == 2


@pytest.mark.django_db
def test_the_wait_after_a_refusal_grows_to_a_minute_and_no_further() -> None:
    put(1)
    now = NOON
    waits = []
    for _ in range(9):
        send_due(publish=Broker(accepts=0).publish, now=now)
        due_at = Outbox.objects.get().due_at
        waits.append((due_at - now).total_seconds())
        now = due_at

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.django_db
def test_a_sender_that_died_after_claiming_gives_its_rows_back_when_the_lease_ends() -> None:
    put(1)
    claim_due(now=NOON)
    broker = Broker()

    assert send_due(publish=broker.publish, now=NOON + LEASE - timedelta(seconds=1)).sent == 0
    assert send_due(publish=broker.publish, now=NOON + LEASE).sent == 1


@pytest.mark.django_db(transaction=True)
def test_a_second_sender_skips_claimed_rows_instead_of_waiting(connect_as: Callable[[str], psycopg.Connection]) -> None:
    """Red without ``skip_locked=True`` in ``claim_due``: the second sender would wait for the first."""
    put(2)
    other = connect_as("app")
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '2s'")
    other.execute("SELECT id FROM checks_outbox ORDER BY id LIMIT 1 FOR UPDATE")
    broker = Broker()

    assert send_due(publish=broker.publish, now=NOON).sent == 1
    assert broker.taken == [("checks.sweep_gaps", [1])]


@pytest.mark.django_db
def test_rows_sent_more_than_a_week_ago_are_deleted_and_unsent_ones_never() -> None:
    put(2)
    send_due(publish=Broker(accepts=1).publish, now=NOON)

    assert purge_sent(now=NOON + timedelta(days=8)) == 1
    assert list(Outbox.objects.values_list("sent_at", flat=True)) == [None]
