"""The head of the chain, signed and told to places outside the database: what a rewriter cannot reach.

Nothing here runs inside an act's transaction, so a place that hangs or refuses holds nobody up. How each telling ended
stands in `LedgerWatch`.
"""

import json
import os
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from smtplib import SMTPException

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction

from checks.domain.errors import CountersignError
from checks.domain.ledger import Anchor
from checks.models import LedgerAnchor, LedgerEntry, LedgerWatch
from checks.selectors.anchors import KeyRing, KeyUnusable
from checks.selectors.ledger_signs import IN_THE_DATABASE

MAILTO = "mailto:"
GIT_PATIENCE_S = 30
log = structlog.get_logger(__name__)


class NothingToAnchor(CountersignError):
    """The chain has no entry yet."""

    code = "nothing_to_anchor"


class NotTold(Exception):
    """A place did not take the anchor; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Anchored:
    """One signed head: the places that have it now, and why the others have not."""

    anchor: Anchor
    told: tuple[str, ...]
    failed: dict[str, str]


def anchor_ledger(*, to: Collection[str], now: datetime) -> Anchored:
    """Sign the head of the chain and tell the places *to*; one that fails stops no other.

    Raises:
        NothingToAnchor: there is no entry.
        KeyUnusable: there is no key to sign with.
    """
    anchor = _signed_head(to, now=now)
    told, failed = [], {}
    for place in to:
        try:
            _tell(place, anchor)
        except NotTold as error:
            failed[place] = str(error)
            log.warning("ledger.anchor_not_told", place=place, why=str(error))
            note_watch(name=place, outcome=LedgerWatch.Outcome.FAILED, detail=str(error), now=now)
        else:
            told.append(place)
            _keep(anchor, place, now=now)
    return Anchored(anchor, tuple(told), failed)


def note_watch(*, name: str, outcome: LedgerWatch.Outcome, detail: str, now: datetime) -> None:
    """Write down how a look at the chain, or a telling to one place, ended."""
    good = {"good_at": now} if outcome is LedgerWatch.Outcome.OK else {}
    LedgerWatch.objects.update_or_create(name=name, defaults={"at": now, "outcome": outcome, "detail": detail} | good)


def _signed_head(to: Collection[str], *, now: datetime) -> Anchor:
    head = LedgerEntry.objects.order_by("-seq").first()
    if head is None:
        raise NothingToAnchor("The ledger has no entry yet; there is nothing to anchor.")
    try:
        return KeyRing.of_settings().sign(Anchor(head.seq, head.digest, now, key_id=""))
    except KeyUnusable as error:
        for place in to:
            note_watch(name=place, outcome=LedgerWatch.Outcome.FAILED, detail=error.message, now=now)
        raise


@transaction.atomic
def _keep(anchor: Anchor, place: str, *, now: datetime) -> None:
    LedgerAnchor.objects.create(
        seq=anchor.seq, head=anchor.head, at=anchor.at, key_id=anchor.key_id, signature=anchor.signature, place=place
    )
    note_watch(name=place, outcome=LedgerWatch.Outcome.OK, detail=f"entry {anchor.seq}", now=now)


def _tell(place: str, anchor: Anchor) -> None:
    if place == IN_THE_DATABASE:
        return
    if place.startswith(MAILTO):
        _mail(place.removeprefix(MAILTO), anchor)
        return
    directory = Path(place)
    file = _write(directory, anchor)
    if (directory / ".git").exists():
        _commit(directory, file)


def _text(anchor: Anchor) -> str:
    return json.dumps(anchor.as_json(), indent=2) + "\n"


def _name(anchor: Anchor) -> str:
    return f"anchor-{anchor.seq:012}-{anchor.at:%Y%m%dT%H%M%S%f}Z.json"


def _write(directory: Path, anchor: Anchor) -> Path:
    """A file of its own, never over another one, and on the disk before it counts."""
    file = directory / _name(anchor)
    try:
        with file.open("x", encoding="ascii") as stream:
            stream.write(_text(anchor))
            stream.flush()
            os.fsync(stream.fileno())
        listing = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(listing)
        finally:
            os.close(listing)
    except OSError as error:
        raise NotTold(f"{file} cannot be written: {error.strerror}.") from error
    return file


def _commit(directory: Path, file: Path) -> None:
    """Commit *file* alone; a hook of the repository may push it."""
    who = ["-c", "user.name=Countersign", "-c", f"user.email={settings.DEFAULT_FROM_EMAIL}"]
    for command in (["add", "--", file.name], [*who, "commit", "-q", "-m", f"Anchor {file.stem}", "--", file.name]):
        try:
            subprocess.run(
                ["git", "-C", str(directory), *command],
                check=True, capture_output=True, text=True, timeout=GIT_PATIENCE_S, stdin=subprocess.DEVNULL,
                env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
            )  # fmt: skip
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.stdout).strip().splitlines()
            raise NotTold(f"git could not commit in {directory}: {said[-1] if said else 'no reason given'}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotTold(f"git could not commit in {directory}: {error}") from error


def _mail(address: str, anchor: Anchor) -> None:
    subject = f"Ledger anchor {anchor.seq} of {settings.PORTAL_URL}"
    message = EmailMessage(subject, _text(anchor), to=[address])
    message.attach(_name(anchor), _text(anchor), "application/json")
    try:
        message.send()
    except (OSError, SMTPException) as error:
        raise NotTold(f"The mail to {address} was not sent: {error}") from error
