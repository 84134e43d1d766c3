"""What trials mean for each node and each link: who is sound, who is to blame, and with whom a suspect measures next.

Nothing is judged here: what is told of a node or link are the facts of the trial that proves it, and a suspect has no
facts but a sentence. A node fails only where blame names it; a slow trial of a suspect is not its own yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from checks.domain.pairs import Blame, Pair, Trial, blame, next_round
from checks.domain.units import Scalar

#: Facts of which the largest is the worst; of all others the smallest is.
_LARGEST_IS_WORST = frozenset({"multi_flow_loss"})


@dataclass(frozen=True, slots=True)
class Said:
    """One trial that is over, with what it found."""

    trial: Trial
    facts: Mapping[str, Scalar]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one node or link: the place of the telling trial among all, and its facts or what is missing."""

    place: int
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    problem: str = ""


def standings(nodes: Sequence[str], said: Sequence[Said], name: Callable[[str], str]) -> dict[str, Standing]:
    """Every one of *nodes* that was in a trial, by the trials in the order of their ends; *name* is for people."""
    trials = [one.trial for one in said]
    found, partners = blame(nodes, trials), _partners(next_round(nodes, trials))
    return {
        node: _standing(node, found, said, partners.get(node), name)
        for node in nodes
        if any(node in trial.pair for trial in trials)
    }


def bad_links(nodes: Sequence[str], said: Sequence[Said]) -> dict[Pair, Standing]:
    """Links that blame names, with the trial that shows it."""
    named = blame(nodes, [one.trial for one in said]).bad_links
    slow = {frozenset(one.trial.pair): place for place, one in enumerate(said) if one.trial.good is False}
    return {pair: Standing(slow[frozenset(pair)], said[slow[frozenset(pair)]].facts) for pair in named}


def passed_links(said: Sequence[Said], pairs: Iterable[Pair]) -> dict[Pair, Standing]:
    """Those of *pairs* whose last trial was good."""
    last = {frozenset(one.trial.pair): place for place, one in enumerate(said) if one.trial.good is not None}
    places = {pair: last[frozenset(pair)] for pair in pairs if frozenset(pair) in last}
    return {pair: Standing(place, said[place].facts) for pair, place in places.items() if said[place].trial.good}


def worst_of(facts: Sequence[Mapping[str, Scalar]]) -> dict[str, Scalar]:
    """The worst of each fact that all of them have."""
    common = [name for name in (facts[0] if facts else {}) if all(name in one for one in facts)]
    return {name: (max if name in _LARGEST_IS_WORST else min)(one[name] for one in facts) for name in common}


def _standing(
    node: str, found: Blame, said: Sequence[Said], partner: str | None, name: Callable[[str], str]
) -> Standing:
    own = {place: one for place, one in enumerate(said) if node in one.trial.pair}
    slow = [place for place, one in own.items() if one.trial.good is False]
    last = max(own)
    if node in found.bad_nodes:
        return Standing(slow[-1], said[slow[-1]].facts)
    if node in found.suspects:
        others = ", ".join(name(other) for place in slow for other in own[place].trial.pair if other != node)
        then = f"measure it with {name(partner)} next" if partner else "it needs another partner that is sound"
        return Standing(last, {}, f"suspect: slow with {others}; {then} to tell whose fault that is")
    if node in found.untested:
        return Standing(last, {}, said[last].problem or "no trial could be judged")
    good = max(place for place, one in own.items() if one.trial.good)
    return Standing(good, said[good].facts)


def _partners(pairs: Iterable[Pair]) -> dict[str, str]:
    return {node: other for one, two in pairs for node, other in ((one, two), (two, one))}
