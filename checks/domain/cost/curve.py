"""ETTR against the checkpoint interval: the curve of a chart, and its best point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.intervals import ettr
from checks.domain.cost.job import WORLDS, Job
from checks.domain.cost.scenario import Scenario

_SHORTEST_S: Final = 60.0
_LONGEST_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """ETTR at one interval with few, as many as expected, and many failures; None: the job would never get on."""

    interval_s: float
    few: float | None
    expected: float | None
    many: float | None


def ettr_curve(scenario: Scenario, points: int = 60) -> tuple[CurvePoint, ...]:
    """Points from a minute (or twice the time of a write) to a day, evenly spaced on a logarithmic axis.

    Raises:
        ImpossibleInput: the scenario itself is impossible.
    """
    job = Job(scenario)
    shortest = max(_SHORTEST_S, 2 * job.write_s)
    growth = (max(_LONGEST_S, 2 * shortest) / shortest) ** (1 / (points - 1))
    return tuple(point_at(job, shortest * growth**place) for place in range(points))


def point_at(job: Job, interval_s: float) -> CurvePoint:
    """The point of one interval."""
    few, expected, many = (_ettr_or_none(job, world, interval_s) for world in WORLDS)
    return CurvePoint(interval_s, few, expected, many)


def best_interval(scenario: Scenario) -> float:
    """The interval in seconds that keeps the job available most at the expected rate.

    Raises:
        ImpossibleInput: without failures no interval is best; or the scenario is impossible.
    """
    return Job(scenario).best_interval_s


def _ettr_or_none(job: Job, world: int, interval_s: float) -> float | None:
    try:
        return ettr(
            mttf=job.mttf_s(world), restart_s=job.restart_s(world), interval_s=interval_s, write_s=job.write_s
        )  # fmt: skip
    except ImpossibleInput:
        return None
