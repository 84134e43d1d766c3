"""Pairs dealt to whoever asks: as few rounds as were promised, and an end that comes."""

from math import ceil, log2

import pytest

from checks.domain.dealing import Table, deal, is_over
from checks.domain.pairs import Pair, Trial, blame, full_coverage, sweep

SIZES = (2, 3, 5, 8, 33, 64)


def fleet(size: int) -> list[str]:
    return [f"node-{number:03}" for number in range(size)]


def everybody_asks(present: list[str], trials: list[Trial], *, full: bool = False) -> list[Pair]:
    """The pairs dealt while each node asks over and over, and no trial ends."""
    busy: set[str] = set()
    dealt: list[Pair] = []
    for _ in range(len(present)):
        for node in present:
            pair = deal(Table(present, frozenset(busy), trials, full=full), node)
            if pair is not None:
                dealt.append(pair)
                busy.update(pair)
    return dealt


def play(present: list[str], slow: set[str], *, full: bool = False) -> list[list[Trial]]:
    """Rounds until nothing is left to learn; pairs with a *slow* node, or that are *slow* themselves, fail."""
    trials: list[Trial] = []
    rounds: list[list[Trial]] = []
    while not is_over(Table(present, frozenset(), trials, full=full)):
        pairs = everybody_asks(present, trials, full=full)
        rounds.append([Trial(pair, slow.isdisjoint(pair)) for pair in pairs])
        trials += rounds[-1]
    return rounds


@pytest.mark.parametrize("size", SIZES)
def test_nobody_sits_in_two_pairs_and_no_pair_is_dealt_twice(size: int) -> None:
    rounds = play(fleet(size), set())

    for one in rounds:
        busy = [node for trial in one for node in trial.pair]
        assert len(busy) == len(set(busy))
    met = [frozenset(trial.pair) for one in rounds for trial in one]
    assert len(met) == len(set(met))


@pytest.mark.parametrize("size", SIZES)
def test_a_sound_fleet_is_swept_in_the_rounds_of_a_sweep(size: int) -> None:
    rounds = play(fleet(size), set())

    assert len(rounds) == ceil(log2(size))
    assert [{frozenset(trial.pair) for trial in one} for one in rounds] == [
        {frozenset(pair) for pair in one} for one in sweep(fleet(size))
    ]


@pytest.mark.parametrize("size", [size for size in SIZES if size > 2])
def test_a_bad_node_is_named_after_two_rounds_or_three_of_an_odd_fleet(size: int) -> None:
    nodes = fleet(size)
    rounds = play(nodes, {nodes[1]})

    first = [trial for one in rounds[: 2 + size % 2] for trial in one]
    assert blame(nodes, first).bad_nodes == (nodes[1],)
    assert len(rounds) <= ceil(log2(size)) + (size == 3)


def test_full_coverage_deals_every_pair() -> None:
    rounds = play(fleet(6), set(), full=True)

    assert len(rounds) == len(full_coverage(fleet(6))) == 5
    assert sum(len(one) for one in rounds) == 15


def test_a_link_that_was_bad_is_measured_again_before_anything_else() -> None:
    table = Table(fleet(4), frozenset(), [], again=[("node-003", "node-001")])

    assert deal(table, "node-001") == ("node-003", "node-001")


def test_whoever_is_busy_is_dealt_nothing_and_waits_for_nobody() -> None:
    table = Table(["a", "b"], frozenset({"a"}), [])

    assert deal(table, "a") is None
    assert deal(table, "b") is None
    assert not is_over(table)


def test_a_partner_of_an_earlier_window_clears_nobody_who_is_here_now() -> None:
    """``gone`` is known to be good, and is not here: the two who are suspects have no partner left."""
    table = Table(["a", "b"], frozenset(), [Trial(("a", "b"), good=False), Trial(("gone", "away"), good=True)])

    assert deal(table, "a") is None
    assert is_over(table)
