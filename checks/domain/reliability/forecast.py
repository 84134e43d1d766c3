"""What a run has to expect, for each rate that is known, and as a range over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checks.domain.cost.base_rates import BaseRate
from checks.domain.reliability.poisson import at_least_one, expected, for_gpus, mttf_h, spares_needed
from checks.domain.reliability.posterior import PRIOR, Belief, History

#: How long a broken node is away: a swap from the shelf, and a return to its maker. Nobody measured these here.
REPAIR_DAYS: Final = (1.0, 7.0)
#: Nine times of ten the true rate lies between these quantiles, as far as the model holds.
LOW, HIGH = 0.05, 0.95
OWN: Final = "own"


@dataclass(frozen=True, slots=True)
class Job:
    """What is to run: nodes of *gpus* GPUs, for *days* days of 24 h."""

    nodes: int
    gpus: int
    days: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """What one rate makes of a job. ``spares`` are for the shorter and the longer repair."""

    rate: float
    interruptions: float
    mttf_h: float
    at_least_one: float
    spares: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Published:
    """A published rate and what it makes of the job."""

    source: BaseRate
    outlook: Outlook


@dataclass(frozen=True, slots=True)
class Forecast:
    """A job's outlook: by each published rate, the lowest first, and by the own history as low, mean and high."""

    job: Job
    published: tuple[Published, ...]
    prior: Belief
    history: History
    belief: Belief
    own: tuple[Outlook, Outlook, Outlook]

    @property
    def interruptions(self) -> tuple[float, float]:
        """The fewest and the most to expect, over everything that is known."""
        every = [one.outlook.interruptions for one in self.published] + [one.interruptions for one in self.own]
        return min(every), max(every)

    @property
    def spares(self) -> tuple[int, int]:
        """The fewest and the most spares that somebody could ask for."""
        every = [spares for one in self.published for spares in one.outlook.spares]
        every += [spares for one in self.own for spares in one.spares]
        return min(every), max(every)


def forecast(job: Job, rates: Sequence[BaseRate], history: History) -> Forecast:
    """Work it out; published rates are for nodes of eight GPUs and are taken by the GPU.

    *history* is counted on nodes like the job's own, and held against a prior for such nodes.
    """
    prior = Belief(for_gpus(PRIOR.shape, job.gpus), PRIOR.node_days)
    belief = prior.after(history)
    ordered = sorted(rates, key=lambda rate: rate.per_1000_node_days)
    published = tuple(
        Published(rate, _outlook(job, for_gpus(float(rate.per_1000_node_days), job.gpus))) for rate in ordered
    )
    low, mean, high = (_outlook(job, rate) for rate in (belief.quantile(LOW), belief.mean, belief.quantile(HIGH)))
    return Forecast(job, published, prior, history, belief, (low, mean, high))


def _outlook(job: Job, rate: float) -> Outlook:
    short, long = (spares_needed(job.nodes, rate, days) for days in REPAIR_DAYS)
    return Outlook(
        rate=rate,
        interruptions=expected(job.nodes, job.days, rate),
        mttf_h=mttf_h(job.nodes, rate),
        at_least_one=at_least_one(job.nodes, job.days, rate),
        spares=(short, long),
    )
