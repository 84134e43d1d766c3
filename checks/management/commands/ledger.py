"""``manage.py ledger verify|anchor|restored|show``."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.domain.errors import CountersignError
from checks.domain.ledger import Anchor
from checks.management.acts import told_in_one_line
from checks.models import LedgerEntry
from checks.selectors.anchors import KeyRing, Unreadable, anchors_in, anchors_outside
from checks.selectors.ledger import Outcome, Verified, entries, verify_ledger
from checks.selectors.ledger_signs import places
from checks.services.anchors import anchor_ledger
from checks.services.ledger_watch import note_restored, note_verified

EXITS = {Outcome.OK: 0, Outcome.BROKEN: 1, Outcome.ROLLED_BACK: 1, Outcome.UNCLEAR: 2}
WORDS = {
    Outcome.OK: "Whole",
    Outcome.BROKEN: "BROKEN",
    Outcome.ROLLED_BACK: "ROLLED BACK",
    Outcome.UNCLEAR: "Cannot tell",
}


class Command(BaseCommand):
    """The chain of acts: whether it is what was written, and its signed heads outside."""

    help = "Verify the ledger (exit 0 whole, 1 broken or rolled back, 2 cannot tell), anchor it, tell of a restore."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``verify``, ``anchor``, ``restored --reason TEXT``, ``show``; ``--anchors DIR`` names one more place."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verify = verbs.add_parser("verify", help="walk the whole chain and hold it against every anchor")
        verbs.add_parser("anchor", help="sign the newest entry now, and tell it to every place of LEDGER_ANCHORS")
        restored = verbs.add_parser("restored", help="write down that the database was restored, before anything else")
        restored.add_argument("--by", help="name of the person who restored it")
        restored.add_argument("--reason", required=True, help="why; it is kept in the ledger")
        for one in (verify, restored):
            one.add_argument("--anchors", type=Path, help="a directory with anchors, besides those of LEDGER_ANCHORS")
        show = verbs.add_parser("show", help="the newest entries")
        show.add_argument("--before", type=int, help="only entries with a smaller number")
        show.add_argument("--limit", type=int, default=20, help="how many")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the one act."""
        getattr(self, f"_{options['verb']}")(options)

    def _verify(self, options: dict[str, Any]) -> None:
        try:
            found = verify_ledger(now=timezone.now(), keys=KeyRing.of_settings(), outside=_outside(options["anchors"]))
        except CountersignError as error:
            raise CommandError(error.message, returncode=EXITS[Outcome.UNCLEAR]) from error
        note_verified(found)
        for line in _lines(found):
            self.stdout.write(line)
        if found.outcome is not Outcome.OK:
            sys.exit(EXITS[found.outcome])

    def _anchor(self, options: dict[str, Any]) -> None:
        with told_in_one_line():
            done = anchor_ledger(to=places(), now=timezone.now())
        for place in done.told:
            self.stdout.write(f"Entry {done.anchor.seq} anchored in {place}, key {done.anchor.key_id}")
        if done.failed:
            raise CommandError(" ".join(done.failed.values()))

    def _restored(self, options: dict[str, Any]) -> None:
        person = _person(options["by"]) if options["by"] else None
        with told_in_one_line():
            outside = _outside(options["anchors"])
            entry = note_restored(
                outside=outside, keys=KeyRing.of_settings(), by=person, reason=options["reason"], now=timezone.now()
            )
        lost, newest = entry.data["lost"], entry.data["anchor"]["seq"]
        self.stdout.write(
            f"Entry {entry.seq}: rolled back by {lost} entries; the newest anchor outside knows {newest}."
        )

    def _show(self, options: dict[str, Any]) -> None:
        page = entries(clusters=None, before=options["before"], limit=max(1, options["limit"]))
        for entry in page.entries:
            self.stdout.write(_row(entry))
        if page.before:
            self.stdout.write(f"More with: --before {page.before}")


def _outside(directory: Path | None) -> Iterator[Anchor | Unreadable]:
    named = anchors_in(directory) if directory else ()
    return chain(named, anchors_outside())


def _person(username: str) -> Any:
    person = get_user_model().objects.filter(username=username, is_active=True).first()
    if person is None:
        raise CommandError(f"There is no active person {username!r}; --by takes a user name.")
    return person


def _lines(found: Verified) -> Iterator[str]:
    yield f"{WORDS[found.outcome]}: {found.entries} entries, held against {found.anchors} anchors"
    for restore in found.restores:
        told = f"{restore.at:%F %T} UTC, {restore.reason}"
        yield f"Rolled back by {restore.lost} entries before entry {restore.seq}: restored, as told on {told}"
    if found.lost:
        yield (
            f"Rolled back by {found.lost} entries: an anchor knows entry {found.last + found.lost}, the chain ends at "
            f"{found.last}. If the database was restored, say so: manage.py ledger restored --reason TEXT"
        )
    yield from found.breaks
    yield from found.unclear


def _row(entry: LedgerEntry) -> str:
    where = f" [{entry.cluster.slug}]" if entry.cluster else ""
    reason = f": {entry.reason}" if entry.reason else ""
    return f"{entry.seq} {entry.at:%F %T} {entry.name or '-'} {entry.what} {entry.target}{where}{reason}"
