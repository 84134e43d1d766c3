"""What follows from a scenario before any price: sizes, times, and how it goes in each of the three worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final

from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.intervals import DAY_S, availability_interval, lost_share, mttf_s
from checks.domain.cost.scenario import Scenario
from checks.domain.cost.sizes import as_gb, checkpoint_bytes
from checks.domain.cost.spot_rate import spot_rate

HOUR_S: Final = 3600.0
#: Days of a month of storage and of a bill.
MONTH_DAYS: Final = 30
WORLDS: Final = range(3)
_EXPECTED: Final = 1


@dataclass(frozen=True, slots=True)
class Stop:
    """One part of an interruption: how long it takes in each world, and how many GPUs stand still for it."""

    key: str
    seconds: tuple[float, float, float]
    gpus: int


@dataclass(frozen=True, slots=True)
class World:
    """How the job goes with one failure rate. Days are days of 24 h.

    ``wall_days`` train, write and recover; ``calendar_days`` hold the maintenance windows too.
    """

    failures: float
    spot_losses: float
    wall_days: float
    calendar_days: float


class Job:
    """A possible scenario, with what follows from it computed once."""

    def __init__(self, scenario: Scenario) -> None:
        """Raises: ImpossibleInput."""
        scenario.require_possible()
        self.scenario = scenario

    @cached_property
    def nodes(self) -> int:
        """Nodes that the GPUs stand in."""
        return math.ceil(self.scenario.gpus / self.scenario.gpus_per_node)

    @cached_property
    def checkpoint_gb(self) -> Decimal:
        """GB of one checkpoint: as measured, else by its layout."""
        if self.scenario.checkpoint_gb is not None:
            return self.scenario.checkpoint_gb
        return as_gb(checkpoint_bytes(self.scenario.parameters, self.scenario.layout))

    @cached_property
    def write_s(self) -> float:
        """Seconds that the job stands still to write a checkpoint."""
        return float(self.checkpoint_gb) / self.scenario.write_gb_s

    @cached_property
    def load_s(self) -> float:
        """Seconds to read a checkpoint back."""
        return float(self.checkpoint_gb) / self.scenario.read_gb_s

    @cached_property
    def spot_rate(self) -> float:
        """Losses of the job's average node to the spot market, in 1000 days."""
        return spot_rate(self.scenario.spot_monthly_percent) * self.scenario.spot_share

    def rate(self, world: int) -> float:
        """Everything that stops a node, in 1000 days."""
        return self.scenario.rates[world] + self.spot_rate

    def mttf_s(self, world: int) -> float:
        """Seconds between two interruptions of the job."""
        return mttf_s(self.nodes, self.rate(world))

    def restart_s(self, world: int) -> float:
        """Seconds from an interruption until steps count again, without the work that is lost."""
        return sum(stop.seconds[world] for stop in self.restart_stops)

    @cached_property
    def interval_s(self) -> float:
        """Seconds from one checkpoint to the next; the best one where the scenario leaves it open."""
        interval = self.scenario.interval_s or self.best_interval_s
        if self.write_s >= interval:
            raise ImpossibleInput(
                "interval_s",
                "longer_than_writing",
                f"Writing a checkpoint takes {self.write_s:.0f} s and the interval is {interval:.0f} s; "
                "save less often or write faster.",
            )
        return interval

    @cached_property
    def best_interval_s(self) -> float:
        """The availability-optimal interval at the expected rate."""
        return availability_interval(self.write_s, self.mttf_s(_EXPECTED), self.restart_s(_EXPECTED))

    @cached_property
    def written(self) -> int:
        """Checkpoints written in the days of training."""
        return int(self.scenario.days * DAY_S // self.interval_s)

    @cached_property
    def restart_stops(self) -> tuple[Stop, ...]:
        """The parts of a restart. A node is acquired for one that is lost, whose own GPUs are not paid meanwhile."""
        given, gpus = self.scenario.restart, self.scenario.gpus
        acquire = min(self.scenario.warm_acquire_s, given.acquire_s) if self.scenario.warm_nodes else given.acquire_s
        few, expected, many = (steps * self.scenario.step_s for steps in self.scenario.extra_steps)
        return (
            _stop("acquire", acquire, max(gpus - self.scenario.gpus_per_node, 0)),
            _stop("boot", given.boot_s, gpus),
            _stop("pull", given.pull_s, gpus),
            _stop("refill", given.refill_s, gpus),
            _stop("load", self.load_s, gpus),
            _stop("init", given.init_s, gpus),
            _stop("compile", given.compile_s, gpus),
            Stop("extra_steps", (few, expected, many), gpus),
        )

    @cached_property
    def stops(self) -> tuple[Stop, ...]:
        """Every part of an interruption: the restart, and half an interval of work that is done again."""
        return (*self.restart_stops, _stop("lost_work", self.interval_s / 2, self.scenario.gpus))

    @cached_property
    def worlds(self) -> tuple[World, World, World]:
        """Few failures, as many as expected, many.

        Raises:
            ImpossibleInput: in one of them the job never gets on.
        """
        few, expected, many = (self._world(world) for world in WORLDS)
        return few, expected, many

    def _world(self, world: int) -> World:
        scenario = self.scenario
        wall = scenario.days * (1 + self.write_s / self.interval_s) / (1 - self._lost_share(world))
        return World(
            failures=wall * self.nodes * scenario.rates[world] / 1000,
            spot_losses=wall * self.nodes * self.spot_rate / 1000,
            wall_days=wall,
            calendar_days=wall * 24 / (24 - scenario.window_h_a_day),
        )

    def _lost_share(self, world: int) -> float:
        """As ``lost_share``; what refuses it says at which rate, because a scenario holds three."""
        try:
            return lost_share(self.mttf_s(world), self.restart_s(world), self.interval_s)
        except ImpossibleInput as refused:
            message = f"With {self.rate(world):.3g} failures of a node in 1000 days: {refused.message}"
            raise ImpossibleInput(refused.field, refused.rule, message) from refused

    @cached_property
    def ettr(self) -> tuple[float, float, float]:
        """Share of the time that trains, in each world, without windows."""
        few, expected, many = (self.scenario.days / world.wall_days for world in self.worlds)
        return few, expected, many


def _stop(key: str, seconds: float, gpus: int) -> Stop:
    return Stop(key, (seconds, seconds, seconds), gpus)
