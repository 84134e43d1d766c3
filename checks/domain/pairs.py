"""Who measures with whom, so that a slow network is blamed on the right node or the right link.

A pair that is slow accuses three: either end, and the link between them. A pass clears both ends at once. So nodes
measure in rounds of disjoint pairs, no pair twice; each round gives everybody another partner, and whoever stays
accused is paired with partners that a pass has cleared.

How many rounds that takes, with one fault among *n* nodes (``tests/domain/test_pairs.py`` holds each of them):

* a bad node is named after 2 rounds, or after 3 when *n* is odd and it sat out: one round alone leaves two accused;
* :func:`sweep` takes ``ceil(log2 n)`` rounds, so that every node meets as many partners, near ones and far ones: all
  of up to ``ceil(log2 n) - 1`` bad nodes at once are named, since every good node keeps a good partner (one fewer
  when *n* is odd);
* a bad link is named by the round after the one that met it. Only :func:`full_coverage` meets them all, in ``n - 1``
  rounds (*n* when it is odd), which is the fewest into which all pairs can be dealt.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile

from checks.domain.errors import CountersignError

#: A node is bad when it failed with as many cleared partners: with one, the link between them may be to blame.
ENOUGH_FAILURES = 2

Pair = tuple[str, str]
"""Two nodes, in the order in which they were handed out."""
Round = tuple[Pair, ...]
"""Pairs that measure at the same time; no node is in two of them."""


class NotAPair(CountersignError):
    """A measurement names one node twice, or one that takes no part."""

    code = "not_a_pair"


@dataclass(frozen=True, slots=True)
class Trial:
    """What one pair found. *good* is None when nothing could be measured, which neither clears nor accuses anybody."""

    pair: Pair
    good: bool | None


@dataclass(frozen=True, slots=True)
class Blame:
    """What the measurements of some nodes prove, in the order of the nodes."""

    bad_nodes: tuple[str, ...] = ()
    bad_links: tuple[Pair, ...] = ()
    #: Accused and not decided: more measurements are needed, or there is no other partner left.
    suspects: tuple[str, ...] = ()
    #: Neither cleared nor accused: nobody measured with them yet.
    untested: tuple[str, ...] = ()


def sweep(nodes: Sequence[str]) -> tuple[Round, ...]:
    """``ceil(log2 n)`` rounds that pair everybody with as many different partners; with *n* odd, one sits out a round.

    Neighbours in *nodes* should be neighbours in the network: partners then lie near and far alike.
    """
    return tuple(_round(nodes, shift) for shift in _powers_of_two(len(nodes)))


def full_coverage(nodes: Sequence[str]) -> tuple[Round, ...]:
    """Every pair once: the rounds of :func:`sweep`, then all others; ``n - 1`` of them, or *n* when *n* is odd."""
    first = _powers_of_two(len(nodes))
    others = [shift for shift in range(1, _seats(nodes) + 1) if shift not in first]
    return tuple(one for one in (_round(nodes, shift) for shift in (*first, *others)) if one)


def _powers_of_two(limit: int) -> tuple[int, ...]:
    return tuple(takewhile(lambda power: power < limit, (1 << exponent for exponent in count())))


def _seats(nodes: Sequence[str]) -> int:
    """Seats round the table of a round-robin tournament, always odd: with an even number of nodes one stays outside."""
    if len(set(nodes)) != len(nodes):
        raise NotAPair("A node is named twice; name each node once.")
    return len(nodes) - 1 + len(nodes) % 2


def _round(nodes: Sequence[str], shift: int) -> Round:
    """Seats that lie opposite each other as seen from seat *shift*; that one plays with the node outside, if any.

    Two seats of a pair add up to twice the shift, modulo an odd number of seats: no other round has that pair.
    """
    seats = _seats(nodes)
    steps = range(1, (seats + 1) // 2)
    pairs = tuple((nodes[(shift + step) % seats], nodes[(shift - step) % seats]) for step in steps)
    outside = nodes[seats:]
    return ((nodes[shift % seats], outside[0]), *pairs) if outside else pairs


def blame(nodes: Sequence[str], trials: Iterable[Trial]) -> Blame:
    """Name the bad nodes and bad links that *trials* prove.

    A node is cleared by one pass. A link is bad when both its ends are cleared. A node is bad when no partner cleared
    it and it failed with two that are cleared themselves. Everything else that failed stays suspect, never good.

    Raises:
        NotAPair: a trial is not about two of *nodes*.
    """
    known = _Known.of(nodes, trials)
    suspects = frozenset(known.accused) - known.bad
    return Blame(
        bad_nodes=tuple(node for node in nodes if node in known.bad),
        bad_links=tuple(pair for pair in known.failed if known.cleared.issuperset(pair)),
        suspects=tuple(node for node in nodes if node in suspects),
        untested=tuple(node for node in nodes if node not in known.cleared and node not in known.accused),
    )


def next_round(nodes: Sequence[str], trials: Sequence[Trial], present: Collection[str] | None = None) -> Round:
    """Pairs that can decide about suspects, and about nodes nobody measured with; empty when nothing is left to learn.

    Each gets a partner that it was never paired with: one that is cleared if there is one (its failure then counts),
    else another undecided one (a pass clears both). Only nodes that are *present* are paired; all are, where None.
    """
    known = _Known.of(nodes, trials)
    found = blame(nodes, trials)
    met = {frozenset(trial.pair) for trial in trials}
    undecided = [node for node in (*found.suspects, *found.untested) if present is None or node in present]
    free = [node for node in nodes if node in known.cleared and (present is None or node in present)] + undecided
    pairs: list[Pair] = []
    for node in undecided:
        if node in free:
            partner = next((one for one in free if one != node and frozenset((node, one)) not in met), None)
            if partner is not None:
                pairs.append((partner, node))
                free = [one for one in free if one not in (node, partner)]
    return tuple(pairs)


@dataclass(frozen=True, slots=True)
class _Known:
    """What follows from some trials alone."""

    cleared: frozenset[str]
    failed: tuple[Pair, ...]
    #: Nodes that failed and that nothing cleared, with the number of cleared partners they failed with.
    accused: Mapping[str, int] = field(default_factory=dict)

    @property
    def bad(self) -> frozenset[str]:
        return frozenset(node for node, failures in self.accused.items() if failures >= ENOUGH_FAILURES)

    @classmethod
    def of(cls, nodes: Sequence[str], trials: Iterable[Trial]) -> "_Known":
        known, trials = frozenset(nodes), list(trials)
        for trial in trials:
            if len(set(trial.pair)) != len(trial.pair) or not known.issuperset(trial.pair):
                raise NotAPair(f"{' and '.join(trial.pair)} are not two of the nodes that take part.")
        passed = {frozenset(trial.pair) for trial in trials if trial.good}
        cleared = frozenset(node for trial in trials if trial.good for node in trial.pair)
        failed = {frozenset(trial.pair): trial.pair for trial in trials if trial.good is False}
        slow = tuple(pair for ends, pair in failed.items() if ends not in passed)
        accused: Counter[str] = Counter()
        for one, other in slow:
            accused.update({node: 0 for node in (one, other) if node not in cleared})
            accused.update(node for node, partner in ((one, other), (other, one)) if _counts(node, partner, cleared))
        return cls(cleared, slow, accused)


def _counts(node: str, partner: str, cleared: frozenset[str]) -> bool:
    return node not in cleared and partner in cleared
