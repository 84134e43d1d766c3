"""Machines and parts to which more happens than chance explains.

Meta found 1.2 % of a cluster's nodes touching 13 % of its daily jobs, and large jobs failing 4 % instead of 14 % of the
time once those were gone (Kokolis et al., arXiv 2410.21680).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, fsum
from typing import Final

#: A serial is a lemon from so many incidents on, ...
LEAST_INCIDENTS: Final = 2
#: ... when chance alone would bring so many with at most this probability.
BY_CHANCE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Record:
    """One serial: incidents that touched it, and the days that it was watched."""

    serial: str
    incidents: int
    days: float


@dataclass(frozen=True, slots=True)
class Suspect:
    """One serial against the fleet's own rate."""

    record: Record
    expected: float
    by_chance: float

    @property
    def is_lemon(self) -> bool:
        """Whether it should leave the pool until somebody finds out why."""
        return self.record.incidents >= LEAST_INCIDENTS and self.by_chance <= BY_CHANCE


def suspects(records: Iterable[Record], *, fleet_incidents: int, fleet_days: float) -> tuple[Suspect, ...]:
    """Each serial with what it would have met at the fleet's rate (incidents a day of one serial), the worst first.

    A fleet without days has no rate, and nobody is suspected.
    """
    rate = fleet_incidents / fleet_days if fleet_days > 0 else 0.0
    found = [_suspect(record, rate * record.days) for record in records]
    return tuple(sorted(found, key=lambda one: (one.by_chance, -one.record.incidents, one.record.serial)))


def _suspect(record: Record, expected: float) -> Suspect:
    return Suspect(record, expected, at_least(record.incidents, expected) if expected > 0 else 1.0)


def at_least(count: int, mean: float) -> float:
    """The probability that a Poisson number of that *mean* is *count* or more."""
    term, terms = exp(-mean), []
    for below in range(count):
        terms.append(term)
        term *= mean / (below + 1)
    return max(0.0, 1.0 - fsum(terms))
