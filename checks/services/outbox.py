"""Hand what ``checks.dispatch`` wrote to the broker: at least once, in bounded batches, by any number of senders."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Least

from checks.models import Outbox

BATCH = 100
# A sender that dies between claim and send gives its rows back after this; the task then may run twice, harmlessly.
LEASE = timedelta(minutes=2)
LONGEST_WAIT_S = 60
# Where the column's counting ends; the trying does not.
MOST_ATTEMPTS = 1000
KEPT = timedelta(days=7)

Publish: TypeAlias = Callable[[str, list[int | str]], None]


class BrokerAway(Exception):
    """The broker did not take the message; nothing is lost, the row stays due."""


@dataclass(frozen=True, slots=True)
class Sending:
    """What one round did: rows handed over, and why it stopped early, if it did."""

    sent: int
    error: str


@transaction.atomic
def claim_due(*, now: datetime) -> list[Outbox]:
    """Take at most ``BATCH`` due rows for this sender alone; another sender skips them instead of waiting."""
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    due = Outbox.objects.filter(free, sent_at=None, due_at__lte=now).order_by("due_at", "id")
    rows = list(due.select_for_update(skip_locked=True)[:BATCH])
    Outbox.objects.filter(pk__in=[row.pk for row in rows]).update(
        claimed_until=now + LEASE, attempts=Least(F("attempts") + 1, MOST_ATTEMPTS)
    )
    return rows


def send_due(*, publish: Publish, now: datetime) -> Sending:
    """Claim what is due and publish it; the first refusal gives the rest back with a growing wait.

    Publishing happens outside any transaction: no lock waits for the broker.
    """
    rows = claim_due(now=now)
    for done, row in enumerate(rows):
        try:
            publish(row.task, row.args)
        except BrokerAway as error:
            _give_back(rows[done:], str(error), now=now)
            return Sending(done, str(error))
        Outbox.objects.filter(pk=row.pk).update(sent_at=now, claimed_until=None, error="")
    return Sending(len(rows), "")


def purge_sent(*, now: datetime) -> int:
    """Delete rows sent more than ``KEPT`` ago; returns how many."""
    return Outbox.objects.filter(sent_at__lt=now - KEPT).delete()[0]


def _give_back(rows: list[Outbox], error: str, *, now: datetime) -> None:
    for row in rows:
        wait = timedelta(seconds=min(LONGEST_WAIT_S, 2**row.attempts))
        Outbox.objects.filter(pk=row.pk).update(claimed_until=None, due_at=now + wait, error=error[:300])
