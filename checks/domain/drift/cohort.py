"""Which nodes of a cohort differ from the others, and in what: the rarest difference first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checks.domain.drift.prints import IsNoise, Print, Value, place_of
from checks.domain.drift.spreading import Crowd, Spread, by_value, quiet_names

#: Nodes of one value that are named; the others are counted.
MOST_NAMED = 64


@dataclass(frozen=True, slots=True)
class Odd:
    """One setting in which some nodes differ from the usual value; ``nodes`` by value, the rarest value first."""

    spread: Spread
    nodes: tuple[tuple[Value, tuple[str, ...]], ...]

    @property
    def name(self) -> str:
        """The setting."""
        return self.spread.name


@dataclass(frozen=True, slots=True)
class CohortDrift:
    """What a cohort's settings say: the odd ones out, and how many settings are equal, noise, or without a usual value.

    A setting that has no value in more than half of the nodes has no odd ones out: it looks like noise that nobody has
    named yet, and stands apart.
    """

    nodes: int
    odd: tuple[Odd, ...]
    divided: tuple[Spread, ...]
    equal: int
    noise: int


def cohort_drift(prints: Sequence[Print], is_noise: IsNoise) -> CohortDrift:
    """Hold the nodes of a cohort against one another.

    Rank: fewest nodes that differ, then fewest values, then the kind in which people look first. One node of 64 that
    differs outranks a setting with ten values.
    """
    crowd = Crowd(prints)
    names, noise = quiet_names([crowd], is_noise)
    spreads = [spread for spread in map(crowd.spread, names) if not spread.is_same]
    odd = sorted((spread for spread in spreads if spread.has_usual), key=_rank)
    divided = sorted((spread for spread in spreads if not spread.has_usual), key=_rank)
    return CohortDrift(
        nodes=len(prints),
        odd=tuple(Odd(spread, _nodes(crowd, spread)) for spread in odd),
        divided=tuple(divided),
        equal=len(names) - len(spreads),
        noise=noise,
    )


def oddities(node: Print, prints: Sequence[Print], is_noise: IsNoise) -> tuple[tuple[Spread, Value], ...]:
    """The settings in which *node*, one of *prints*, differs from the usual value, with what it has; ranked alike."""
    crowd = Crowd(prints)
    names, _ = quiet_names([crowd], is_noise)
    spreads = (spread for spread in map(crowd.spread, names) if spread.has_usual and not spread.is_same)
    found = ((spread, node.value(spread.name)) for spread in spreads)
    return tuple(
        (spread, value)
        for spread, value in sorted(found, key=lambda one: _rank(one[0]))
        if value is not None and value != spread.usual
    )


def _rank(spread: Spread) -> tuple[int, int, int, str]:
    return spread.odd, len(spread.counts), place_of(spread.name), spread.name


def _nodes(crowd: Crowd, spread: Spread) -> tuple[tuple[Value, tuple[str, ...]], ...]:
    groups = by_value(crowd.others(spread.name, spread.usual))
    return tuple((value, tuple(nodes[:MOST_NAMED])) for value, nodes in groups)
