"""Nodes compared with one another."""

from checks.domain.uniform import Member, odd_ones
from tests.domain.building import item_of

FIRMWARE = item_of(
    scope="gpu", cadence="daily", facts={"vbios": "text"}, criteria=[{"fact": "vbios", "operator": "uniform"}]
)


def told(*vbios: str, group: str = "H200") -> list[tuple[str, str]]:
    members = [Member(f"n{place}", group, "gpu0", {"vbios": one} if one else {}) for place, one in enumerate(vbios)]
    return [(why.node, why.code.value) for why in odd_ones(FIRMWARE, members)]


def test_equal_nodes_give_no_reason() -> None:
    assert told("96.00", "96.00", "96.00") == []


def test_the_odd_one_is_outside_the_strict_majority() -> None:
    assert told("96.00", "95.99", "96.00") == [("n1", "not_uniform")]


def test_without_a_majority_all_are_named() -> None:
    assert told("96.00", "95.99") == [("n0", "not_uniform"), ("n1", "not_uniform")]


def test_a_missing_value_is_unknown_and_decides_no_majority() -> None:
    assert told("96.00", "", "96.00") == [("n1", "not_measured")]


def test_groups_are_not_compared_with_one_another() -> None:
    members = [Member("n0", "H200", "", {"vbios": "96.00"}), Member("n1", "H100", "", {"vbios": "95.99"})]

    assert odd_ones(FIRMWARE, members) == ()
