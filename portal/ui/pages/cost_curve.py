"""Time that trains against the checkpoint interval: the points of a chart and of its table."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from checks.domain.cost.curve import ettr_curve, point_at
from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.job import Job
from checks.domain.cost.scenario import Scenario

# From five minutes to eight hours: outside nobody saves.
POINTS, SHORTEST_MIN, LONGEST_MIN = 60, 3.0, 600.0


@dataclass(frozen=True, slots=True)
class Point:
    """One interval: shares of one with few, expected and many failures."""

    minutes: float
    shares: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """The points in which every rate leaves something to train, the best interval and the chosen one."""

    points: tuple[Point, ...]
    best_min: float
    best_share_of_one: float
    chosen_min: float
    chosen_share_of_one: float

    @property
    def best_share(self) -> float:
        """Per cent that train at the best interval."""
        return 100 * self.best_share_of_one

    @property
    def best_says(self) -> str:
        """The mark of the best interval."""
        return _("best: %(minutes)d min") % {"minutes": round(self.best_min)}

    @property
    def chosen_says(self) -> str:
        """The mark of the chosen interval."""
        return _("chosen: %(minutes)d min") % {"minutes": round(self.chosen_min)}

    @property
    def says(self) -> str:
        """The chart in a sentence."""
        said = _(
            "Saving every %(best)d minutes is best: %(most).2f %% of the time trains. Every %(chosen)d minutes it is "
            "%(share).2f %%."
        )
        return said % {
            "best": round(self.best_min), "most": self.best_share, "chosen": round(self.chosen_min),
            "share": 100 * self.chosen_share_of_one,
        }  # fmt: skip


def curve_of(scenario: Scenario, job: Job) -> Curve:
    """Collect it.

    Raises:
        ImpossibleInput
    """
    best_s = _best_s(job)
    return Curve(
        points=tuple(_points(scenario)),
        best_min=best_s / 60,
        best_share_of_one=point_at(job, best_s).expected or 0.0,
        chosen_min=job.interval_s / 60,
        chosen_share_of_one=point_at(job, job.interval_s).expected or 0.0,
    )


def _best_s(job: Job) -> float:
    """The best interval; without failures none is, and what was chosen is as good as any."""
    try:
        return job.best_interval_s
    except ImpossibleInput:
        return job.interval_s


def _points(scenario: Scenario) -> list[Point]:
    found = []
    for point in ettr_curve(scenario, POINTS):
        minutes, shares = point.interval_s / 60, (point.few, point.expected, point.many)
        if SHORTEST_MIN <= minutes <= LONGEST_MIN and all(share is not None for share in shares):
            few, expected, many = (share or 0.0 for share in shares)
            found.append(Point(minutes, (few, expected, many)))
    return found
