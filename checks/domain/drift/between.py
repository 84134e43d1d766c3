"""Cluster against cluster, run against run, and one node against itself on another day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checks.domain.drift.prints import IsNoise, Print, Value, place_of
from checks.domain.drift.spreading import Crowd, Spread, quiet_names


@dataclass(frozen=True, slots=True)
class Contrast:
    """One setting that spreads otherwise in A than in B.

    ``suspicion``, 0 to 1: how much of the two spreads does not overlap, times how much each side agrees in itself. One
    value throughout A and another throughout B makes 1.
    """

    a: Spread
    b: Spread
    suspicion: float

    @property
    def name(self) -> str:
        """The setting."""
        return self.a.name

    @property
    def differ(self) -> int:
        """Nodes of B that do not have the usual value of A."""
        return self.b.known - self.b.counts.get(self.a.usual, 0)


@dataclass(frozen=True, slots=True)
class Contrasts:
    """What tells A from B.

    ``unlike`` counts settings without a usual value on a side, of which nothing can be said; ``one_sided`` those that
    are known on one side only.
    """

    contrasts: tuple[Contrast, ...]
    unlike: int
    equal: int
    noise: int
    one_sided: int


def contrasts(a: Sequence[Print], b: Sequence[Print], is_noise: IsNoise) -> Contrasts:
    """Hold two sets of nodes against each other, the most suspicious setting first."""
    sides = Crowd(a), Crowd(b)
    names, noise = quiet_names(sides, is_noise)
    found: list[Contrast] = []
    unlike = equal = one_sided = 0
    for name in names:
        in_a, in_b = (side.spread(name) for side in sides)
        if not in_a.known or not in_b.known:
            one_sided += 1
        elif _shares(in_a) == _shares(in_b):
            equal += 1
        elif not (in_a.has_usual and in_b.has_usual):
            unlike += 1
        else:
            found.append(Contrast(in_a, in_b, _suspicion(in_a, in_b)))
    return Contrasts(tuple(sorted(found, key=_rank)), unlike, equal, noise, one_sided)


@dataclass(frozen=True, slots=True)
class Change:
    """One setting of a node that was otherwise."""

    name: str
    before: Value
    after: Value


def changes(before: Print, after: Print, is_noise: IsNoise) -> tuple[Change, ...]:
    """What changed from *before* to *after*, in the order in which people look; nothing where a side is not known."""
    if before.base is after.base and before.own == after.own:
        return ()
    names = {*before.own, *after.own}
    if before.base is not after.base:
        names |= {*before.base.settings, *after.base.settings}
    found = (Change(name, before.value(name), after.value(name)) for name in names if not is_noise(name))
    differing = (one for one in found if None not in (one.before, one.after) and one.before != one.after)
    return tuple(sorted(differing, key=lambda one: (place_of(one.name), one.name)))


@dataclass(frozen=True, slots=True)
class SharedChange:
    """One setting that changed alike on some nodes."""

    change: Change
    nodes: tuple[str, ...]


def shared_changes(before: Sequence[Print], after: Sequence[Print], is_noise: IsNoise) -> tuple[SharedChange, ...]:
    """What changed on each node that is known on both days; what changed on most nodes first."""
    earlier = {one.node: one for one in before}
    nodes: dict[Change, list[str]] = {}
    for now in after:
        then = earlier.get(now.node)
        for change in changes(then, now, is_noise) if then is not None else ():
            nodes.setdefault(change, []).append(now.node)
    found = (SharedChange(change, tuple(sorted(hosts))) for change, hosts in nodes.items())
    return tuple(sorted(found, key=lambda one: (-len(one.nodes), place_of(one.change.name), one.change.name)))


def _shares(spread: Spread) -> dict[Value, float]:
    return {value: spread.share(value) for value in spread.counts}


def _suspicion(a: Spread, b: Spread) -> float:
    apart = sum(abs(a.share(value) - b.share(value)) for value in {*a.counts, *b.counts}) / 2
    return apart * a.share(a.usual) * b.share(b.usual)


def _rank(one: Contrast) -> tuple[float, int, str]:
    return -one.suspicion, place_of(one.name), one.name
