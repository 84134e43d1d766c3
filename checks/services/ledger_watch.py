"""The nightly look at the whole chain, the nightly anchor, and what a restore of the database writes down."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

import structlog
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from checks.domain.errors import CountersignError
from checks.domain.ledger import Anchor
from checks.models import LedgerEntry, LedgerWatch
from checks.selectors.anchors import KeyRing, KeyUnusable, Standing, Unreadable, anchors_outside
from checks.selectors.ledger import RESTORED, Outcome, Verified, verify_ledger
from checks.selectors.ledger_signs import CHAIN, places
from checks.services.anchors import NothingToAnchor, anchor_ledger, note_watch
from checks.services.ledger import write_entry

log = structlog.get_logger(__name__)


class NoAnchorOutside(CountersignError):
    """A restore cannot say what it lost: no place outside tells how far the chain once went."""

    code = "no_anchor_outside"


def watch_chain(*, now: datetime) -> Verified | None:
    """Verify the chain, once a day; None when today's look went well already. What is found is written down."""
    if _done_today(CHAIN, now=now):
        return None
    try:
        found = verify_ledger(now=now, keys=KeyRing.of_settings(), outside=anchors_outside())
    except KeyUnusable as error:
        note_watch(name=CHAIN, outcome=LedgerWatch.Outcome.UNCLEAR, detail=error.message, now=now)
        return None
    if found.outcome is not Outcome.OK:
        log.error("ledger.not_whole", outcome=found.outcome, detail=detail_of(found))
    note_verified(found)
    return found


def note_verified(found: Verified) -> None:
    """Write down what a look at the chain found, for status and board."""
    note_watch(
        name=CHAIN, outcome=LedgerWatch.Outcome(found.outcome.value), detail=detail_of(found), now=found.at
    )  # fmt: skip


def watch_anchor(*, now: datetime) -> None:
    """Have every place hold an anchor of today; one that failed is tried again at the next call, alone."""
    due = [place for place in places() if not _done_today(place, now=now)]
    if due:
        with suppress(NothingToAnchor, KeyUnusable):  # written down for each place, or nothing to say yet
            anchor_ledger(to=due, now=now)


def detail_of(found: Verified) -> str:
    """What was found, in one sentence or a few."""
    if found.breaks:
        return " ".join(found.breaks)
    if found.lost:
        return f"Rolled back by {found.lost} entries: the chain ends at {found.last}, and an anchor knows more of it."
    return " ".join(found.unclear) or f"{found.entries} entries, held against {found.anchors} anchors."


@transaction.atomic
def note_restored(
    *, outside: Iterable[Anchor | Unreadable], keys: KeyRing, by: AbstractBaseUser | None, reason: str, now: datetime
) -> LedgerEntry:
    """Write down that the database was restored, naming the newest anchor that lies outside, and what it lost.

    Raises:
        NoAnchorOutside: there is none that this portal's key signed.
    """
    newest, kept = _newest_and_kept(outside, keys)
    last = LedgerEntry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
    lost = newest.seq - (last if last < newest.seq else kept)
    data = {"anchor": newest.as_json(), "kept": kept, "lost": lost}
    return write_entry(what=RESTORED, target="database", who=by, reason=reason, now=now, data=data)


def _newest_and_kept(outside: Iterable[Anchor | Unreadable], keys: KeyRing) -> tuple[Anchor, int]:
    """The newest anchor of ours, and the number of the newest anchored entry that the database still has."""
    newest, kept = None, 0
    for found in outside:
        if not isinstance(found, Anchor) or keys.standing(found) is not Standing.GENUINE:
            continue
        newest = found if newest is None or found.seq > newest.seq else newest
        if found.seq > kept and LedgerEntry.objects.filter(seq=found.seq, digest=found.head).exists():
            kept = found.seq
    if newest is None:
        raise NoAnchorOutside(
            "No anchor of this portal's key was found outside: name a directory that holds them with --anchors DIR; "
            "an anchor that came by mail is saved as a .json file there."
        )
    return newest, kept


def _done_today(name: str, *, now: datetime) -> bool:
    row = LedgerWatch.objects.filter(pk=name, outcome=LedgerWatch.Outcome.OK).first()
    return row is not None and row.good_at is not None and row.good_at.date() >= now.date()
