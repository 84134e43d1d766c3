"""How far a re-check that somebody asked for has come: requested, picked up, measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from checks.models import RecheckRequest
from checks.selectors.pages_verdicts import ShownState
from portal.ui import words

# A finished one is still shown for as long as somebody may be looking for its result.
SHOWN_AFTER_END = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Stage:
    """One of the three stages."""

    word: str
    at: datetime | None
    current: bool

    @property
    def done(self) -> bool:
        """Whether it lies behind."""
        return self.at is not None and not self.current


@dataclass(frozen=True, slots=True)
class Progress:
    """The newest re-check, its stages and what it found."""

    step: int
    says: str
    stages: tuple[Stage, ...]
    open: bool


def progress_of(asked: Sequence[RecheckRequest], rows: Sequence[ShownState], *, now: datetime) -> Progress | None:
    """The newest re-check while it is open, and ten minutes after it ended; *rows* say what it found."""
    newest = next(iter(asked), None)
    if newest is None:
        return None
    expired = newest.done_at is None and newest.expires_at is not None and newest.expires_at <= now
    ended = newest.done_at or (newest.expires_at if expired else None)
    if ended is not None and now - ended > SHOWN_AFTER_END:
        return None
    reached = [newest.requested_at, newest.picked_up_at or newest.done_at, newest.done_at]
    step = sum(at is not None for at in reached)
    names = (_("requested"), _("picked up"), _("measured"))
    stages = tuple(
        Stage(name, at, place == step - 1) for place, (name, at) in enumerate(zip(names, reached, strict=True))
    )
    return Progress(step, _says(newest, rows, expired=expired), stages, ended is None)


def _says(recheck: RecheckRequest, rows: Sequence[ShownState], *, expired: bool) -> str:
    if expired:
        return _("given up: the agent did not call within the hour; look at its cron line or timer")
    if recheck.done_at is None and recheck.picked_up_at is None:
        return _("waiting for the agent's next call, a minute as a rule")
    if recheck.done_at is None:
        return _("the agent is measuring")
    found = {row.shown for row in rows if row.item in recheck.items}
    worst = next((verdict for verdict in words.WORST_FIRST if verdict in found), "unknown")
    return _("measured: %(verdict)s") % {"verdict": words.VERDICTS[worst]}
