"""What all nodes of a cluster say about one thing becomes the facts of an item that no node holds."""

from typing import Any

import pytest

from checks.domain.shared_items import (
    FROM_NODES,
    Derived,
    NodeWord,
    images,
    lossless_classes,
    python_environments,
    rendezvous,
)

ONE, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
UNCONFIGURED = "agent.json names no training_python"


def word(node: str, problem: str = "", **facts: Any) -> NodeWord:
    """What *node* says of itself."""
    return NodeWord(node, {"": facts} if facts else {}, problem)


def test_one_set_of_packages_on_all_nodes_is_one() -> None:
    found = python_environments([word(f"gpu{number}", environment=ONE) for number in range(3)])

    assert found == Derived({"environments": 1, "nodes_not_measured": 0}, "", (f"{ONE} · 3: gpu0, gpu1, gpu2",))


def test_a_node_with_another_set_is_named() -> None:
    words = [word("gpu0", environment=ONE), word("gpu1", environment=ONE), word("gpu2", environment=OTHER)]

    found = python_environments(words)

    assert found.facts["environments"] == 2
    assert found.said == (f"{ONE} · 2: gpu0, gpu1", f"{OTHER} · 1: gpu2")


def test_a_node_that_said_nothing_makes_no_second_set_and_is_a_problem() -> None:
    found = python_environments([word("gpu0", environment=ONE), word("gpu1", UNCONFIGURED)])

    assert found.facts == {"environments": 1}
    assert found.problem == f"1 of 2 nodes did not say (all of) it: gpu1 ({UNCONFIGURED})"


def test_many_silent_nodes_are_counted_and_some_are_named() -> None:
    found = python_environments([word(f"gpu{number}") for number in range(8)])

    assert found.facts == {}
    assert found.problem == "8 of 8 nodes did not say (all of) it: gpu0, gpu1, gpu2, gpu3, gpu4 and 3 more"


def test_an_image_that_is_not_on_a_node_was_measured() -> None:
    found = images([word("gpu0", present=True, digest=ONE), word("gpu1", present=False)])

    assert (found.facts, found.problem) == ({"digests": 1, "nodes_without_image": 1}, "")
    assert found.said == (f"{ONE} · 1: gpu0", "not present: gpu1")


def test_two_digests_are_two_images() -> None:
    words = [word("gpu0", present=True, digest=ONE), word("gpu1", present=True, digest=OTHER)]

    assert images(words).facts == {"digests": 2, "nodes_without_image": 0}


def test_an_engine_that_does_not_answer_leaves_its_node_unmeasured() -> None:
    found = images([word("gpu0", present=True, digest=ONE), word("gpu1", "docker ended with 1", image="train:1")])

    assert found.facts == {"digests": 1, "nodes_without_image": 0}
    assert "gpu1 (docker ended with 1)" in found.problem


def cards(node: str, qos: str, mapped: bool | None = True, problem: str = "", layer: str = "Ethernet") -> NodeWord:
    """A node with two cards of one setting."""
    facts: dict[str, Any] = {"link_layer": layer} | ({"qos": qos} if qos else {})
    facts |= {} if mapped is None else {"traffic_class_mapped": mapped}
    return NodeWord(node, {"nic0": facts, "nic1": facts}, problem)


def test_cards_that_are_set_alike_differ_in_none() -> None:
    found = lossless_classes([cards("gpu0", "pfc 0x08"), cards("gpu1", "pfc 0x08")], switches_stated=True)

    assert found.facts == {
        "link_layer": "Ethernet", "nics_differing": 0, "traffic_class_mapped": True, "switch_matches": True,
    }  # fmt: skip
    assert found.problem == ""


def test_cards_outside_the_majority_are_counted_and_without_one_all_are() -> None:
    three = [cards("gpu0", "pfc 0x08"), cards("gpu1", "pfc 0x08"), cards("gpu2", "pfc 0x01")]

    assert lossless_classes(three, switches_stated=True).facts["nics_differing"] == 2
    assert lossless_classes(three[1:], switches_stated=True).facts["nics_differing"] == 4


def test_one_card_whose_traffic_is_not_lossless_is_enough() -> None:
    found = lossless_classes([cards("gpu0", "pfc 0x08"), cards("gpu1", "pfc 0x08", mapped=False)], switches_stated=True)

    assert found.facts["traffic_class_mapped"] is False


def test_the_switches_are_a_persons_word_and_without_it_nothing_matches() -> None:
    found = lossless_classes([cards("gpu0", "pfc 0x08")], switches_stated=False)

    assert "switch_matches" not in found.facts
    assert "net-topology-map" in found.problem


def test_a_node_whose_traffic_class_nobody_told_does_not_pass_for_mapped() -> None:
    words = [cards("gpu0", "pfc 0x08"), cards("gpu1", "pfc 0x08", None, "/etc/nccl.conf sets no NCCL_IB_TC")]

    found = lossless_classes(words, switches_stated=True)

    assert "traffic_class_mapped" not in found.facts
    assert "gpu1 (/etc/nccl.conf sets no NCCL_IB_TC)" in found.problem


def test_a_cluster_of_infiniband_alone_says_so_and_nothing_else() -> None:
    words = [cards("gpu0", "", None, layer="InfiniBand"), cards("gpu1", "", None, layer="InfiniBand")]

    assert lossless_classes(words, switches_stated=False) == Derived({"link_layer": "InfiniBand"})


def test_a_silent_node_may_have_other_cards_than_infiniband() -> None:
    found = lossless_classes([cards("gpu0", "", None, layer="InfiniBand"), word("gpu1")], switches_stated=True)

    assert found.problem != ""


def meets(node: str, **changes: Any) -> NodeWord:
    facts: dict[str, Any] = {"master": "gpu0:29500", "resolves": True, "reaches": True, "socket_interfaces": 1}
    return word(node, **(facts | changes))


MASTER = meets("gpu0", is_master=True, port_in_use=False)


def test_ranks_that_all_find_a_free_master_can_meet() -> None:
    found = rendezvous([MASTER, meets("gpu1")])

    assert found == Derived(
        {"nodes_not_resolving": 0, "nodes_not_reaching": 0, "port_in_use": False, "socket_interfaces": 1}
    )


def test_nodes_that_do_not_find_or_reach_it_are_counted_and_named() -> None:
    lost = word("gpu2", master="gpu0:29500", resolves=False, socket_interfaces=1)

    found = rendezvous([MASTER, meets("gpu1", reaches=False), lost])

    assert (found.facts["nodes_not_resolving"], found.facts["nodes_not_reaching"]) == (1, 1)
    assert found.said == ("does not resolve: gpu2", "does not reach it: gpu1")


def test_a_port_that_somebody_holds_is_the_masters_word() -> None:
    assert rendezvous([meets("gpu0", port_in_use=True), meets("gpu1")]).facts["port_in_use"] is True


def test_a_master_that_is_no_node_of_the_cluster_leaves_its_port_unknown() -> None:
    found = rendezvous([meets("gpu1"), meets("gpu2")])

    assert "port_in_use" not in found.facts
    assert "no node of this cluster is the master" in found.problem


@pytest.mark.parametrize(("numbers", "worst"), [((1, 1), 1), ((1, 3), 3), ((0, 1), 0)])
def test_the_number_of_interfaces_farthest_from_one_counts(numbers: tuple[int, int], worst: int) -> None:
    words = [meets(f"gpu{place}", socket_interfaces=number) for place, number in enumerate(numbers)]

    assert rendezvous(words).facts["socket_interfaces"] == worst


def test_two_places_to_meet_at_are_no_place() -> None:
    found = rendezvous([MASTER, meets("gpu1", master="gpu9:29500")])

    assert found.facts == {}
    assert found.problem == "nodes name different places to meet at"


@pytest.mark.parametrize("item", FROM_NODES)
def test_nodes_that_say_nothing_make_no_fact_that_could_pass(item: str) -> None:
    found = FROM_NODES[item]([word("gpu0"), word("gpu1")])

    assert found.facts == {}
    assert found.problem != ""
