"""Send what ``checks.services.notices`` wrote: at least once, with growing waits, one bad destination holding up none.

No transaction is open and no row is locked while a mail server or a chat is asked.
"""

from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Any, Final

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Least

from checks.models import BreakerTrip, Notice
from checks.services.destinations import NotDelivered, NotifyFileInvalid, deliver, destinations

log = structlog.get_logger(__name__)
BATCH: Final = 20
# A sender that dies between claim and sending gives its rows back after this; the message may come twice.
LEASE: Final = timedelta(minutes=5)
FIRST_WAIT: Final = timedelta(seconds=30)
LONGEST_WAIT: Final = timedelta(hours=1)
GIVEN_UP_AFTER: Final = timedelta(days=2)
#: How long a row says that something was told: so long it is not told again.
KEPT: Final = timedelta(days=90)
_MOST_ATTEMPTS: Final = 1000


def send_notices(*, now: datetime) -> int:
    """Send what is due; returns how many messages were taken. What was not is tried again, later each time."""
    sent, refusing = 0, set[str]()
    for notice in _claim(now=now):
        place = notice.place_key or "mail"
        if place in refusing:
            _postpone(notice, notice.error, now=now)
            continue
        try:
            _send(notice)
        except NotDelivered as error:
            refusing.add(place)
            log.warning("notices.not_delivered", to=notice.place or "mail", why=str(error))
            _postpone(notice, str(error), now=now)
        else:
            sent += Notice.objects.filter(pk=notice.pk).update(sent_at=now, claimed_until=None, error="")
    return sent


def purge_notices(*, now: datetime) -> int:
    """Delete messages that are done with and older than ``KEPT``; returns how many."""
    done = Notice.objects.filter(created_at__lt=now - KEPT).exclude(sent_at=None, given_up_at=None)
    return done.delete()[0]


def due_notices(*, now: datetime) -> QuerySet[Notice]:
    """What may be sent at *now*: due, not held by a breaker, loud ones first."""
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    held = BreakerTrip.objects.filter(ended_at=None).values("cluster")
    due = Notice.objects.filter(free, sent_at=None, given_up_at=None, due_at__lte=now)
    return due.exclude(about_nodes=True, cluster__in=held).order_by("-loud", "due_at", "pk")


@transaction.atomic
def _claim(*, now: datetime) -> list[Notice]:
    rows = list(due_notices(now=now).select_for_update(skip_locked=True, of=("self",))[:BATCH])
    Notice.objects.filter(pk__in=[row.pk for row in rows]).update(claimed_until=now + LEASE)
    return rows


def _send(notice: Notice) -> None:
    if notice.place_key:
        try:
            to = destinations().find(notice.place_key)
        except NotifyFileInvalid as error:
            raise NotDelivered(str(error)) from error
        if to is None:
            raise NotDelivered(f"{notice.place}: NOTIFY_FILE does not name it any more.")
        deliver(to, title=notice.title, body=notice.body, loud=notice.loud)
    else:
        _mail(notice, notice.person)


def _mail(notice: Notice, person: Any) -> None:
    """Mail to whoever it was meant for, at the address that they have now."""
    if not (person.is_active and person.email):
        raise NotDelivered("mail: the account was closed, or has no address any more.")
    headers = {"Importance": "high"} if notice.loud else {}
    subject = f"[Countersign] {notice.title}"
    message = EmailMessage(subject, notice.body, settings.DEFAULT_FROM_EMAIL, [person.email], headers=headers)
    try:
        message.send()
    except (OSError, SMTPException, ValueError) as error:
        raise NotDelivered(f"mail: {error}") from error


def _postpone(notice: Notice, error: str, *, now: datetime) -> None:
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(notice.attempts, 10))
    given_up = now if now - notice.created_at > GIVEN_UP_AFTER else None
    Notice.objects.filter(pk=notice.pk).update(
        claimed_until=None, due_at=now + wait, error=error[:300], given_up_at=given_up,
        attempts=Least(F("attempts") + 1, _MOST_ATTEMPTS),
    )  # fmt: skip
