"""Node sets as schedulers write them, and the texts that must be refused before they cost anything."""

import pytest

from checks.selectors.nodesets import MAX_NODES, BadNodeSet, fold_node_set, parse_node_set


def test_a_slurm_range_keeps_its_leading_zeros() -> None:
    assert parse_node_set("gpu[008-010]") == ("gpu008", "gpu009", "gpu010")


def test_ranges_single_names_and_two_brackets_stand_in_one_set() -> None:
    assert parse_node_set("login1, gpu[1-2,7],r[0-1]-n[3-4]") == (
        "login1", "gpu1", "gpu2", "gpu7", "r0-n3", "r0-n4", "r1-n3", "r1-n4",
    )  # fmt: skip


def test_a_name_asked_twice_counts_once() -> None:
    assert parse_node_set("gpu[1-3],gpu2") == ("gpu1", "gpu2", "gpu3")


def test_an_empty_text_names_no_node() -> None:
    assert parse_node_set("  ") == ()


@pytest.mark.parametrize("huge", ["n[1-999999999]", "a[0-999]b[0-999]", "n[1-9],m[1-99999999]", "x[1-9][1-9999][1-9]"])
def test_a_set_larger_than_any_cluster_is_refused_before_it_is_expanded(huge: str) -> None:
    with pytest.raises(BadNodeSet, match=f"more than {MAX_NODES} nodes"):
        parse_node_set(huge)


def test_a_reversed_range_cannot_pay_for_a_huge_one() -> None:
    with pytest.raises(BadNodeSet, match="'999999999-1' is no node set"):
        parse_node_set("a[1-999999999],b[999999999-1]")


@pytest.mark.parametrize(
    "text",
    [
        "n[1-",
        "n[5-1]",
        "n[a-b]",
        "n[]",
        "n[1-3]]",
        "@all",
        "n*",
        "n[1-10/2]",
        "a b",
        "n1!n2",
        "ü1",
        "n[01-3]",
        "n[1;2]",
        "\x00",
    ],
)
def test_text_that_is_no_node_set_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadNodeSet, match="is no node set; write host names or ranges such as"):
        parse_node_set(text)


def test_half_a_megabyte_of_commas_is_read_and_not_backtracked_over() -> None:
    assert parse_node_set("," * 500_000 + "n1") == ("n1",)


def test_folding_joins_neighbours_and_keeps_zeros() -> None:
    assert fold_node_set(["gpu003", "gpu017", "gpu001", "gpu002", "login"]) == "gpu[001-003,017],login"


def test_folding_nothing_gives_an_empty_text() -> None:
    assert fold_node_set([]) == ""


def test_full_domain_names_fold_over_the_host_and_not_over_the_domain() -> None:
    assert fold_node_set(["gpu1.c2.example", "gpu2.c2.example"]) == "gpu[1-2].c2.example"


def test_names_that_differ_only_in_zeros_stay_two_names() -> None:
    assert sorted(parse_node_set(fold_node_set(["n1", "n01"]))) == ["n01", "n1"]
