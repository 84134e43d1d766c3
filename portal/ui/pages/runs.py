"""The list of runs, with how far each of them has come."""

from dataclasses import dataclass
from datetime import datetime

from checks.models import OVER, Run
from checks.selectors.runs import runs_of
from portal.accounts.models import User


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs ahead and running, the next to start first; or those that are over, newest first."""

    runs: tuple[Run, ...]
    over: bool
    ahead_count: int
    over_count: int
    now: datetime

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        return tuple((run.slug, run.stage, run.name, run.planned_start, run.owner_id) for run in self.runs)


def runs_page(user: User, *, over: bool, now: datetime) -> RunsPage:
    """Collect the list."""
    mine = [access.run for access in runs_of(user)]
    past = [run for run in mine if run.stage in OVER]
    ahead = sorted((run for run in mine if run.stage not in OVER), key=lambda run: (run.planned_start, run.slug))
    return RunsPage(tuple(past if over else ahead), over, len(ahead), len(past), now)
