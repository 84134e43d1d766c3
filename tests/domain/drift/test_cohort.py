"""Odd ones out of a cohort: the rarest difference first, and nothing said of what is not known."""

from hypothesis import given
from hypothesis import strategies as st

from checks.domain.drift.cohort import cohort_drift
from checks.domain.drift.noise import Noise, Rule
from checks.domain.drift.prints import Base, Print, difference
from tests.domain.drift.making import SYSCTL, fleet, never, whole

BACKLOG = "sysctl:net.core.netdev_max_backlog"


def test_one_node_of_64_that_differs_is_named_with_the_setting_and_both_values() -> None:
    found = cohort_drift(fleet(64, {BACKLOG: "5000"}, {37: {BACKLOG: "1000"}}), never)

    (odd,) = found.odd
    assert odd.name == BACKLOG
    assert odd.spread.usual == "5000"
    assert odd.nodes == (("1000", ("gpu-037",)),)
    assert (found.nodes, found.equal, found.noise) == (64, 0, 0)


def test_one_node_that_differs_outranks_a_setting_with_ten_values() -> None:
    ten = {n: {"sysctl:a.ten": str(n)} for n in range(1, 10)}
    odd = ten | {37: {BACKLOG: "1000"}}

    found = cohort_drift(fleet(64, {BACKLOG: "5000", "sysctl:a.ten": "0"}, odd), never)

    assert [one.name for one in found.odd] == [BACKLOG, "sysctl:a.ten"]


def test_a_setting_in_which_all_differ_has_no_odd_ones_out() -> None:
    found = cohort_drift(fleet(4, {}, {n: {"sysctl:a.own": str(n)} for n in range(1, 5)}), never)

    assert found.odd == ()
    assert [spread.name for spread in found.divided] == ["sysctl:a.own"]


def test_half_against_half_has_no_usual_value() -> None:
    found = cohort_drift(fleet(4, {"sysctl:a.b": "0"}, {n: {"sysctl:a.b": "1"} for n in (1, 2)}), never)

    assert found.odd == ()
    assert found.divided[0].counts == {"0": 2, "1": 2}


def test_a_setting_that_one_node_lacks_is_a_difference() -> None:
    found = cohort_drift([whole("a", a_b="1"), whole("b", a_b="1"), whole("c")], never)

    assert found.odd[0].nodes == ((False, ("c",)),)


def test_a_kind_that_was_not_read_is_no_difference() -> None:
    found = cohort_drift([whole("a", a_b="1"), whole("b", a_b="1"), whole("c", kinds=frozenset({"cmdline"}))], never)

    assert found.odd == ()
    assert found.equal == 1


def test_a_value_that_could_not_be_read_is_no_difference() -> None:
    unread = Print.whole("c", SYSCTL, {"sysctl:a.b": None})

    assert cohort_drift([whole("a", a_b="1"), whole("b", a_b="1"), unread], never).odd == ()


def test_noise_is_counted_and_not_shown() -> None:
    noise = Noise((Rule("sysctl:kernel.random.*", en="drawn", zh="随机"),))
    prints = [whole(node, kernel_random_uuid=node, a_b="1") for node in "abc"]

    found = cohort_drift(prints, noise.covers)

    assert (found.odd, found.divided, found.equal, found.noise) == ((), (), 1, 1)


names = st.sampled_from(["sysctl:a", "sysctl:b", "sysctl:c", "sysctl:d"])
values = st.sampled_from(["0", "1", "2"])
settings = st.dictionaries(names, st.none() | values)


@given(st.lists(settings, min_size=1, max_size=8), settings)
def test_what_is_shared_with_a_base_changes_no_finding(
    nodes: list[dict[str, str | None]], base: dict[str, str | None]
) -> None:
    kinds = frozenset({"sysctl"})
    shared = Base(kinds, base)
    alone = [Print.whole(str(n), kinds, held) for n, held in enumerate(nodes)]
    told = [Print(str(n), shared, difference(base, held)) for n, held in enumerate(nodes)]

    assert all(one.value(name) == other.value(name) for one, other in zip(alone, told, strict=True) for name in base)
    without, with_base = cohort_drift(alone, never), cohort_drift(told, never)
    assert without.odd == with_base.odd
    assert without.divided == with_base.divided


@given(st.lists(settings, min_size=1, max_size=8))
def test_the_order_of_nodes_changes_no_finding(nodes: list[dict[str, str | None]]) -> None:
    prints = [Print.whole(str(n), SYSCTL, held) for n, held in enumerate(nodes)]

    assert cohort_drift(prints, never) == cohort_drift(prints[::-1], never)


@given(st.lists(settings, min_size=1, max_size=8))
def test_odd_ones_are_fewer_than_those_that_agree(nodes: list[dict[str, str | None]]) -> None:
    for one in cohort_drift([Print.whole(str(n), SYSCTL, held) for n, held in enumerate(nodes)], never).odd:
        assert sum(len(hosts) for _, hosts in one.nodes) < one.spread.counts[one.spread.usual]
