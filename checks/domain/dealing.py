"""Pairs dealt to nodes as they ask, so that rounds come about by themselves and nobody waits for the slowest.

First every pair of the sweep (or of full coverage), then pairs that decide about suspects. A pair is dealt only when it
is the first that both of its ends could have now: an odd one out takes nobody from a pair of an earlier round. The
first of all pairs that could be dealt is so for both of its ends, so something is always dealt while anything can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.domain.pairs import Pair, Trial, full_coverage, next_round, sweep


@dataclass(frozen=True, slots=True)
class Table:
    """Who takes part, and what is known, at the moment in which one node asks."""

    #: Nodes that are taken and have asked lately; neighbours in the network are neighbours here.
    present: Sequence[str]
    #: Of those, nodes whose trial is not over.
    busy: frozenset[str]
    #: What was found, with nodes that are here and with others.
    trials: Sequence[Trial]
    #: Links that are known to be bad, and are to be measured again.
    again: Sequence[Pair] = ()
    #: Whether every pair is to meet, and not only those of a sweep.
    full: bool = False

    @property
    def nodes(self) -> tuple[str, ...]:
        """Everybody who is present or was measured."""
        measured = (node for trial in self.trials for node in trial.pair)
        return tuple(dict.fromkeys((*self.present, *measured)))


def deal(table: Table, asker: str) -> Pair | None:
    """The pair in which *asker* measures now; None while its partners are busy, and when nothing is left for it."""
    if asker in table.busy:
        return None
    wanted = list(_wanted(table))
    if wanted:
        return _first_for_both([pair for pair in wanted if table.busy.isdisjoint(pair)], asker)
    free = [node for node in table.present if node not in table.busy]
    return next((pair for pair in next_round(table.nodes, table.trials, free) if asker in pair), None)


def is_over(table: Table) -> bool:
    """Whether nothing is left to learn from those who are present: nobody measures, and no pair could be dealt."""
    wanted = any(True for _ in _wanted(table))
    return not (wanted or table.busy or next_round(table.nodes, table.trials, frozenset(table.present)))


def _wanted(table: Table) -> Iterator[Pair]:
    """Pairs that are to meet and did not yet, in the order of their rounds."""
    present, met = frozenset(table.present), {frozenset(trial.pair) for trial in table.trials}
    rounds = full_coverage(table.present) if table.full else sweep(table.present)
    for pair in (*table.again, *(pair for one in rounds for pair in one)):
        if present.issuperset(pair) and frozenset(pair) not in met:
            yield pair


def _first_for_both(pairs: Sequence[Pair], asker: str) -> Pair | None:
    mine = next((pair for pair in pairs if asker in pair), None)
    if mine is None:
        return None
    partner = mine[0] if mine[1] == asker else mine[1]
    return mine if next(pair for pair in pairs if partner in pair) == mine else None
