"""What another threshold would have said: false alarms and misses over values that were really measured.

A sample is the worst value of one subject on one day. It counts as *before an incident* where an incident that the item
caught, or should have caught, touched its node within the two days after it; from the incident's start to its end it
counts as nothing: the node was known to be bad then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from math import floor, log10
from typing import Final

from checks.domain.comparing import compare
from checks.domain.items import Criterion, Item, Operator
from checks.domain.units import Kind

#: How long before its incident a value should have warned.
BEFORE: Final = timedelta(hours=48)
#: Days of values are kept this long.
KEPT: Final = timedelta(days=400)
#: Wanted columns of a histogram.
COLUMNS: Final = 24

_LEAST: Final = frozenset({Operator.GE, Operator.GT})
_MOST: Final = frozenset({Operator.LE, Operator.LT})


@dataclass(frozen=True, slots=True)
class Tally:
    """How many samples had this very value: good ones, and ones from before an incident."""

    value: float
    good: int
    before: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What a threshold says of the samples: good ones that it fails, ones before an incident that it passes."""

    false_alarms: int
    misses: int


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the histogram: *low* <= value < *high* (the last one holds its *high* too)."""

    low: float
    high: float
    good: int
    before: int


@dataclass(frozen=True, slots=True)
class BackTest:
    """All samples of one criterion."""

    operator: Operator
    tallies: tuple[Tally, ...]

    @property
    def good(self) -> int:
        """Samples of nodes to which nothing happened."""
        return sum(one.good for one in self.tallies)

    @property
    def before(self) -> int:
        """Samples from before an incident."""
        return sum(one.before for one in self.tallies)

    def at(self, threshold: float) -> Counts:
        """What *threshold* would have said."""
        failed = [one for one in self.tallies if not compare(self.operator, one.value, threshold)]
        return Counts(
            false_alarms=sum(one.good for one in failed), misses=self.before - sum(one.before for one in failed)
        )

    def columns(self, threshold: float) -> tuple[Column, ...]:
        """A histogram with round edges that holds every sample, and *threshold* as well."""
        if not self.tallies:
            return ()
        values = [one.value for one in self.tallies]
        edges = _edges(min(*values, threshold), max(*values, threshold))
        return tuple(_column(self.tallies, low, high, is_last=high == edges[-1]) for low, high in pairwise(edges))

    def best(self) -> float | None:
        """The measured value at which fewest samples are judged wrongly, misses before false alarms.

        None where nothing was before an incident: then no threshold is better than another.
        """
        if not self.before:
            return None
        ordered = sorted(self.tallies, key=lambda one: one.value, reverse=not asks_for_more(self.operator))
        ranked, alarms, caught = [], 0, 0
        for one in ordered:  # from the worst value on: each fails all those before it, and itself where equal is bad
            itself = not compare(self.operator, one.value, one.value)
            ranked.append((self.before - caught - itself * one.before, alarms + itself * one.good, one.value))
            alarms, caught = alarms + one.good, caught + one.before
        return min(ranked)[2]


def movable(item: Item) -> tuple[Criterion, ...]:
    """Criteria of *item* whose threshold one number can replace, and that days of values say something about.

    What counts under load only, or for a while, is left out: a day's worst value is no sample of it.
    """
    return tuple(
        one
        for one in item.criteria
        if one.operator in _LEAST | _MOST
        and item.facts[one.fact].kind is Kind.NUMBER
        and not (one.threshold_fact or one.needs_load or one.amount)
        and isinstance(one.threshold, int | float)
        and sum(other.fact == one.fact and other.operator is not Operator.UNIFORM for other in item.criteria) == 1
    )


def asks_for_more(operator: Operator) -> bool:
    """Whether small values are the bad ones, so that the least of a day is its worst."""
    return operator in _LEAST


def _column(tallies: Sequence[Tally], low: float, high: float, *, is_last: bool) -> Column:
    inside = [one for one in tallies if low <= one.value < high or (is_last and one.value == high)]
    return Column(low, high, sum(one.good for one in inside), sum(one.before for one in inside))


def _edges(least: float, most: float) -> list[float]:
    """About `COLUMNS` round numbers apart by 1, 2 or 5 of some power of ten, from below *least* to above *most*."""
    if most <= least:
        return [least, least + (abs(least) / 10 or 1.0)]
    raw = (most - least) / COLUMNS
    power = 10.0 ** floor(log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw * 0.999)
    first, last = floor(least / step), floor(most / step) + 1
    return [round(place * step, 12) for place in range(first, last + 1)]
