"""What a run's page says beside its gates: which settings changed since it was signed, and what it has to expect."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from checks.domain.drift.between import shared_changes
from checks.domain.reliability.forecast import Forecast
from checks.models import Run
from checks.selectors.drift_moments import last_signed
from checks.selectors.fingerprints import noise_in_force, prints_since
from checks.selectors.reliability import outlook_of
from checks.selectors.runs import pool_of
from portal.ui.pages.drift import Items, Row, change_rows

#: Rows of the panel; the drift page holds all of them.
MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Drifted:
    """What changed on the run's nodes since the newest signature. ``known`` of ``asked`` nodes can tell."""

    since: datetime
    rows: Sequence[Row]
    more: int
    known: int
    asked: int


@dataclass(frozen=True, slots=True)
class RunOutlook:
    """Both panels; None where there is nothing to say yet: nobody signed, or the nodes have no GPU."""

    drifted: Drifted | None
    forecast: Forecast | None

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        return self.drifted and (
            self.drifted.rows,
            self.drifted.known,
        ), self.forecast and self.forecast.history.failures


def run_outlook(run: Run, *, now: datetime) -> RunOutlook:
    """Collect both."""
    return RunOutlook(_drifted(run), outlook_of(run, now=now))


def _drifted(run: Run) -> Drifted | None:
    signed = last_signed(run)
    if signed is None:
        return None
    then = prints_since([node.pk for node in pool_of(run)], signed)
    found = shared_changes(then.before.prints, then.after.prints, noise_in_force().covers)
    known = len(then.before.prints)
    rows = list(change_rows(found[:MOST_SHOWN], known, Items(run.cluster)))
    return Drifted(signed, rows, max(len(found) - MOST_SHOWN, 0), known, then.before.asked)
