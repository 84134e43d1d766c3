"""How the values of each setting spread over nodes, without looking at every setting of every node.

Fingerprints of a cluster are told as what differs from a few bases: a setting that no node has of its own is counted
by bases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from checks.domain.drift.prints import Base, IsNoise, Print, Value


@dataclass(frozen=True, slots=True)
class Spread:
    """How often each value of one setting was seen; what is not known is not counted.

    ``known`` are the nodes of which the value is known; ``usual`` is the value of more than half of them, None where
    there is no such value; ``odd`` are those that have another one.
    """

    name: str
    counts: Mapping[Value, int]
    # What follows from the above, worked out once: there can be as many values as nodes.
    known: int = field(init=False, repr=False, compare=False)
    usual: Value = field(init=False, repr=False, compare=False)
    odd: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known = sum(self.counts.values())
        most = max(self.counts, key=self.counts.__getitem__, default=None)
        has_usual = 2 * self.counts.get(most, 0) > known
        for name, held in (
            ("known", known),
            ("usual", most if has_usual else None),
            ("odd", known - self.counts[most] if has_usual else known),
        ):
            object.__setattr__(self, name, held)

    @property
    def has_usual(self) -> bool:
        """Whether more than half of the nodes agree."""
        return self.usual is not None

    @property
    def is_same(self) -> bool:
        """Whether no two nodes differ, as far as is known."""
        return len(self.counts) < 2

    def share(self, value: Value) -> float:
        """The part of the known nodes that have *value*, 0 to 1."""
        return self.counts.get(value, 0) / self.known if self.known else 0.0


class Crowd:
    """Fingerprints of several nodes, ready to be asked about one setting after the other."""

    def __init__(self, prints: Sequence[Print]) -> None:
        self.prints = prints
        members: dict[Base, list[Print]] = defaultdict(list)
        for one in prints:
            members[one.base].append(one)
        self._groups = [(base, len(nodes), _owners(nodes)) for base, nodes in members.items()]

    def names(self) -> set[str]:
        """Every setting that any of them has, or has otherwise than its base."""
        return {name for base, _, owners in self._groups for names in (base.settings, owners) for name in names}

    def spread(self, name: str) -> Spread:
        """How often each value of *name* was seen."""
        counts: Counter[Value] = Counter()
        for base, nodes, owners in self._groups:
            told = owners.get(name, ())
            if nodes > len(told):
                counts[base.value(name)] += nodes - len(told)
            if told:
                counts.update([one.own[name] for one in told])
        counts.pop(None, None)
        return Spread(name, counts)

    def others(self, name: str, usual: Value) -> list[tuple[str, Value]]:
        """The nodes whose value of *name* is known and not *usual*, by name."""
        found = ((one.node, one.value(name)) for one in self._candidates(name, usual))
        return sorted((node, value) for node, value in found if value is not None and value != usual)

    def _candidates(self, name: str, usual: Value) -> Iterator[Print]:
        """Those that have a value of their own, and all whose base has another one than *usual*."""
        bases = {base for base, _, _ in self._groups if base.value(name) != usual}
        if bases:
            yield from (one for one in self.prints if one.base in bases or name in one.own)
        else:
            yield from (one for _, _, owners in self._groups for one in owners.get(name, ()))


def _owners(prints: Iterable[Print]) -> Mapping[str, Sequence[Print]]:
    """By setting, who has a value of their own."""
    owners: dict[str, list[Print]] = defaultdict(list)
    for one in prints:
        for name in one.own:
            owners[name].append(one)
    return owners


def quiet_names(crowds: Iterable[Crowd], is_noise: IsNoise) -> tuple[list[str], int]:
    """All settings that say something, and how many do not."""
    names = set[str]().union(*(crowd.names() for crowd in crowds))
    quiet = [name for name in names if not is_noise(name)]
    return quiet, len(names) - len(quiet)


def by_value(nodes: Iterable[tuple[str, Value]]) -> Iterator[tuple[Value, list[str]]]:
    """Nodes by what they have, the rarest value first."""
    found: dict[Value, list[str]] = defaultdict(list)
    for node, value in nodes:
        found[value].append(node)
    yield from sorted(found.items(), key=lambda entry: (len(entry[1]), str(entry[0])))
