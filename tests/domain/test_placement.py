"""Which ready nodes a job should take: never one that is not ready, never more switches than need be."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.placement import UNKNOWN_SWITCH, choose_nodes

# Up to six switches of up to five ready nodes, some of them on no known switch.
CLUSTERS = st.dictionaries(
    st.sampled_from([UNKNOWN_SWITCH, "leaf-1", "leaf-2", "leaf-3", "leaf-4", "leaf-5"]), st.integers(1, 5), min_size=1
)


def ready_nodes(sizes: dict[str, int]) -> dict[str, str]:
    """So many nodes on each switch, node -> switch."""
    return {f"{switch or 'loose'}-{number}": switch for switch, size in sizes.items() for number in range(size)}


def fewest_by_trying_all(sizes: dict[str, int], count: int) -> int:
    """The number of switches of the best choice, found without any cleverness."""
    return next(
        number
        for number in range(1, len(sizes) + 1)
        for some in combinations(sizes.values(), number)
        if sum(some) >= count
    )


@given(CLUSTERS, st.integers(1, 30))
def test_never_more_switches_than_by_trying_all_choices(sizes: dict[str, int], count: int) -> None:
    count = min(count, sum(sizes.values()))

    chosen = choose_nodes(ready_nodes(sizes), count=count)

    assert len(chosen.groups) == fewest_by_trying_all(sizes, count)


@given(CLUSTERS, st.integers(1, 40))
def test_every_chosen_node_is_ready_chosen_once_and_on_its_own_switch(sizes: dict[str, int], count: int) -> None:
    ready = ready_nodes(sizes)

    chosen = choose_nodes(ready, count=count)

    assert len(set(chosen.nodes)) == len(chosen.nodes) == min(count, len(ready))
    assert {node: group.switch for group in chosen.groups for node in group.nodes}.items() <= ready.items()


@given(CLUSTERS, st.integers(1, 30))
def test_nodes_on_no_known_switch_are_taken_only_where_known_ones_need_more_switches(
    sizes: dict[str, int], count: int
) -> None:
    count = min(count, sum(sizes.values()))
    known = {switch: size for switch, size in sizes.items() if switch != UNKNOWN_SWITCH}

    chosen = choose_nodes(ready_nodes(sizes), count=count)

    if UNKNOWN_SWITCH in {group.switch for group in chosen.groups}:
        enough = sum(known.values()) >= count
        assert not enough or fewest_by_trying_all(known, count) > len(chosen.groups)


def test_the_smallest_switch_that_suffices_is_taken_and_larger_ones_are_left_whole() -> None:
    chosen = choose_nodes(ready_nodes({"leaf-1": 9, "leaf-2": 4, "leaf-3": 5}), count=4)

    assert [group.switch for group in chosen.groups] == ["leaf-2"]
    assert chosen.explanation == "The 4 nodes lie on one switch."


def test_several_switches_are_explained_by_the_size_of_the_largest() -> None:
    chosen = choose_nodes(ready_nodes({"leaf-1": 4, "leaf-2": 3, "leaf-3": 2}), count=6)

    assert [(group.switch, len(group)) for group in chosen.groups] == [("leaf-1", 4), ("leaf-3", 2)]
    assert chosen.explanation == "No fewer than 2 switches hold 6 ready nodes; the largest has 4."


def test_nodes_on_no_known_switch_are_a_group_of_their_own_and_said_so() -> None:
    chosen = choose_nodes(ready_nodes({"leaf-1": 3, UNKNOWN_SWITCH: 5}), count=6)

    assert {group.switch: len(group) for group in chosen.groups} == {UNKNOWN_SWITCH: 5, "leaf-1": 1}
    assert chosen.explanation.endswith("Nodes on no known switch: 5, counted as one group.")


def test_where_no_switch_is_known_one_switch_is_not_claimed() -> None:
    assert choose_nodes(ready_nodes({UNKNOWN_SWITCH: 4}), count=4).explanation == (
        "No switch is known of any of these nodes."
    )


@pytest.mark.parametrize("sizes", [{}, {"leaf-1": 2, "leaf-2": 1}])
def test_too_few_ready_nodes_are_all_offered_and_not_called_enough(sizes: dict[str, int]) -> None:
    chosen = choose_nodes(ready_nodes(sizes), count=4)

    assert (len(chosen.nodes), chosen.is_enough) == (sum(sizes.values()), False)
    assert chosen.explanation.startswith(f"Only {sum(sizes.values())} of the 4 nodes")


def test_the_same_nodes_in_another_order_give_the_same_choice() -> None:
    ready = ready_nodes({"leaf-1": 2, "leaf-2": 2, "leaf-3": 1})

    assert choose_nodes(ready, count=3) == choose_nodes(dict(reversed(ready.items())), count=3)
