"""Who measures with whom: disjoint pairs, none twice, and the one fault of a fleet named in the fewest rounds."""

from collections.abc import Callable
from itertools import combinations
from math import ceil, log2

import pytest

from checks.domain.pairs import Blame, NotAPair, Pair, Round, Trial, blame, full_coverage, next_round, sweep

EVERY_SIZE = range(1, 258)
SMALL = range(3, 22)
"""Sizes of which every node and every link is tried."""


def fleet(size: int) -> list[str]:
    return [f"node-{number:03}" for number in range(size)]


def some_of(nodes: list[str]) -> list[str]:
    """All nodes of a small fleet; of a large one both ends, both sides of the middle, and one in between."""
    if len(nodes) in SMALL:
        return nodes
    return sorted({nodes[place] for place in (0, len(nodes) // 3, len(nodes) // 2, len(nodes) // 2 - 1, -1)})


def fewest(size: int) -> int:
    """Rounds of pairs that nobody can do without: after one of them both ends are accused; an odd one sat out."""
    return 2 + size % 2


def measured(rounds: tuple[Round, ...], is_slow: Callable[[Pair], bool]) -> list[Trial]:
    return [Trial(pair, not is_slow(pair)) for one in rounds for pair in one]


def one_bad_node(bad: str) -> Callable[[Pair], bool]:
    return lambda pair: bad in pair


def one_bad_link(bad: Pair) -> Callable[[Pair], bool]:
    return lambda pair: set(pair) == set(bad)


def finish(nodes: list[str], trials: list[Trial], is_slow: Callable[[Pair], bool]) -> tuple[Blame, int]:
    """Go on with suspects until nothing is left to learn; what is known then, and in how many more rounds."""
    more = 0
    while pairs := next_round(nodes, trials):
        trials = trials + measured((pairs,), is_slow)
        more += 1
    return blame(nodes, trials), more


@pytest.mark.parametrize("rounds", [sweep, full_coverage])
def test_nobody_is_in_two_pairs_of_a_round_and_only_an_odd_one_sits_out(
    rounds: Callable[..., tuple[Round, ...]],
) -> None:
    for size in EVERY_SIZE:
        for one in rounds(fleet(size)):
            busy = [node for pair in one for node in pair]
            assert len(busy) == len(set(busy)) == size - size % 2


def test_a_sweep_takes_as_many_rounds_as_the_fleet_can_be_halved() -> None:
    for size in EVERY_SIZE:
        assert len(sweep(fleet(size))) == ceil(log2(size))
    assert len(sweep(fleet(512))) == 9


def test_no_pair_comes_twice_in_a_sweep() -> None:
    for size in EVERY_SIZE:
        pairs = [frozenset(pair) for one in sweep(fleet(size)) for pair in one]
        assert len(pairs) == len(set(pairs))


def test_nobody_sits_out_twice_in_a_sweep() -> None:
    for size in EVERY_SIZE:
        nodes = fleet(size)
        out = [node for one in sweep(nodes) for node in set(nodes).difference(*one)]
        assert len(out) == len(set(out))


def test_full_coverage_meets_every_link_once_in_the_fewest_rounds_there_can_be() -> None:
    for size in (*range(2, 40), 128, 257):
        rounds = full_coverage(fleet(size))
        pairs = [frozenset(pair) for one in rounds for pair in one]
        assert len(pairs) == len(set(pairs)) == size * (size - 1) // 2
        assert len(rounds) == ceil(len(pairs) / (size // 2))  # a round holds at most half of the nodes in pairs


def test_one_node_alone_has_nobody_to_measure_with() -> None:
    assert sweep(["a"]) == full_coverage(["a"]) == next_round(["a"], []) == ()


@pytest.mark.parametrize("size", [size for size in EVERY_SIZE if size > 2])
def test_a_bad_node_is_named_in_the_fewest_rounds(size: int) -> None:
    nodes = fleet(size)
    rounds = full_coverage(nodes)[: fewest(size)]

    for bad in some_of(nodes):
        found = blame(nodes, measured(rounds, one_bad_node(bad)))
        assert (found.bad_nodes, found.bad_links, found.suspects) == ((bad,), (), ())


@pytest.mark.parametrize("size", [size for size in EVERY_SIZE if size > 2])
def test_a_sweep_names_a_bad_node_and_only_three_nodes_need_one_round_more(size: int) -> None:
    nodes = fleet(size)

    for bad in some_of(nodes):
        found, more = finish(nodes, measured(sweep(nodes), one_bad_node(bad)), one_bad_node(bad))
        assert found == Blame(bad_nodes=(bad,))
        assert more <= (size == 3)


@pytest.mark.parametrize("size", [size for size in EVERY_SIZE if size > 2])
def test_a_bad_link_is_named_by_the_round_after_the_one_that_met_it(size: int) -> None:
    """One more when the fleet is odd: an end of the link may sit out that round."""
    nodes = fleet(size)
    rounds = full_coverage(nodes)[: len(sweep(nodes)) + fewest(size) - 1]

    for number, one in enumerate(rounds[: len(sweep(nodes))], 1):
        bad = one[len(one) // 2]
        seen = rounds[: number + fewest(size) - 1]
        assert blame(nodes, measured(seen, one_bad_link(bad))) == Blame(bad_links=(bad,))


@pytest.mark.parametrize("size", SMALL)
def test_full_coverage_names_any_bad_link_and_nobody_else(size: int) -> None:
    nodes = fleet(size)
    rounds = full_coverage(nodes)

    for bad in combinations(nodes, 2):
        found = blame(nodes, measured(rounds, one_bad_link(bad)))
        assert [set(link) for link in found.bad_links] == [set(bad)]
        assert (found.bad_nodes, found.suspects, found.untested) == ((), (), ())


def test_full_coverage_of_257_nodes_names_a_link_that_a_sweep_does_not_meet() -> None:
    nodes = fleet(257)
    bad = ("node-000", "node-001")
    is_slow = one_bad_link(bad)
    assert not any(map(is_slow, (pair for one in sweep(nodes) for pair in one)))

    found = blame(nodes, measured(full_coverage(nodes), is_slow))

    assert [set(link) for link in found.bad_links] == [set(bad)]


@pytest.mark.parametrize("size", [8, 16, 64, 200, 256])
def test_a_sweep_names_as_many_bad_nodes_at_once_as_it_has_rounds_but_one(size: int) -> None:
    nodes = fleet(size)
    rounds = sweep(nodes)
    victim = nodes[size // 2]
    partners = [node for one in rounds for pair in one if victim in pair for node in pair if node != victim]
    bad = set(partners[:-1])  # the worst case: all partners of one good node but the last

    found = blame(nodes, measured(rounds, lambda pair: bool(bad.intersection(pair))))

    assert (set(found.bad_nodes), found.bad_links, found.suspects) == (bad, (), ())


def test_a_bad_node_and_a_bad_link_at_once_are_told_apart() -> None:
    nodes = fleet(12)
    link = sweep(nodes)[0][1]
    bad = next(node for node in nodes if node not in link)

    found, _more = finish(nodes, measured(sweep(nodes), lambda pair: bad in pair or pair == link), one_bad_node(bad))

    assert (found.bad_nodes, found.bad_links) == ((bad,), (link,))


def test_two_nodes_alone_cannot_tell_whose_fault_it_is() -> None:
    trials = [Trial(("a", "b"), good=False)]

    assert blame(["a", "b"], trials) == Blame(suspects=("a", "b"))
    assert next_round(["a", "b"], trials) == ()


def test_a_pair_that_could_not_measure_clears_nobody_and_accuses_nobody() -> None:
    found = blame(["a", "b", "c", "d"], [Trial(("a", "b"), good=None), Trial(("c", "d"), good=True)])

    assert found == Blame(untested=("a", "b"))


def test_whoever_could_not_be_measured_gets_another_partner_that_is_cleared() -> None:
    trials = [Trial(("a", "b"), good=None), Trial(("c", "d"), good=True)]

    assert next_round(["a", "b", "c", "d"], trials) == (("c", "a"), ("d", "b"))


def test_suspects_are_paired_with_cleared_nodes_that_they_have_not_met_and_the_bad_end_is_named() -> None:
    trials = [Trial(("a", "b"), good=False), Trial(("c", "d"), good=True)]

    pairs = next_round(["a", "b", "c", "d"], trials)

    assert pairs == (("c", "a"), ("d", "b"))
    assert blame(["a", "b", "c", "d"], [*trials, Trial(pairs[0], good=True), Trial(pairs[1], good=False)]) == Blame(
        bad_nodes=("b",)
    )


def test_one_failure_with_a_cleared_partner_is_not_enough_to_name_a_node() -> None:
    """The link between them may be the bad one."""
    trials = [Trial(("a", "b"), good=True), Trial(("b", "c"), good=False)]

    assert blame(["a", "b", "c"], trials) == Blame(suspects=("c",))


def test_a_pass_of_the_same_pair_later_takes_its_failure_back() -> None:
    trials = [Trial(("a", "b"), good=False), Trial(("b", "a"), good=True)]

    assert blame(["a", "b"], trials) == Blame()


def test_a_whole_fleet_that_fails_is_suspect_and_nobody_is_named() -> None:
    nodes = fleet(9)

    found, _more = finish(nodes, measured(sweep(nodes), lambda _: True), lambda _: True)

    assert found == Blame(suspects=tuple(nodes))


@pytest.mark.parametrize("pair", [("a", "a"), ("a", "stranger")])
def test_a_measurement_of_anything_but_two_of_the_nodes_is_refused(pair: Pair) -> None:
    with pytest.raises(NotAPair):
        blame(["a", "b"], [Trial(pair, good=True)])


def test_a_node_that_is_named_twice_is_refused() -> None:
    with pytest.raises(NotAPair):
        sweep(["a", "b", "a"])
