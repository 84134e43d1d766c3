"""Cluster against cluster, and a node against itself: what is one thing here and another there comes first."""

from hypothesis import given
from hypothesis import strategies as st

from checks.domain.drift.between import changes, contrasts
from checks.domain.drift.noise import Noise, Rule
from checks.domain.drift.prints import Print
from tests.domain.drift.making import SYSCTL, fleet, never, whole


def test_one_value_throughout_a_and_another_throughout_b_is_wholly_suspicious() -> None:
    found = contrasts(fleet(4, {"sysctl:a.b": "0"}, {}), fleet(4, {"sysctl:a.b": "1"}, {}), never)

    (one,) = found.contrasts
    assert (one.name, one.suspicion, one.differ) == ("sysctl:a.b", 1.0, 4)


def test_three_nodes_of_64_come_after_a_setting_that_differs_throughout() -> None:
    a = fleet(64, {"sysctl:a.b": "0", "sysctl:a.some": "0"}, {})
    b = fleet(64, {"sysctl:a.b": "1", "sysctl:a.some": "0"}, {n: {"sysctl:a.some": "9"} for n in (1, 2, 3)})

    found = contrasts(a, b, never)

    assert [(one.name, one.differ) for one in found.contrasts] == [("sysctl:a.b", 64), ("sysctl:a.some", 3)]
    assert found.contrasts[1].suspicion == 3 / 64 * 61 / 64


def test_what_differs_from_node_to_node_on_both_sides_is_not_suspicious() -> None:
    a = fleet(3, {}, {n: {"sysctl:a.own": f"a{n}"} for n in (1, 2, 3)})
    b = fleet(3, {}, {n: {"sysctl:a.own": f"b{n}"} for n in (1, 2, 3)})

    found = contrasts(a, b, never)

    assert (found.contrasts, found.unlike) == ((), 1)


def test_what_only_one_side_has_read_is_counted_and_not_compared() -> None:
    found = contrasts([whole("a", a_b="1")], [whole("b", kinds=frozenset({"env"}))], never)

    assert (found.contrasts, found.one_sided) == ((), 1)


def test_noise_is_left_out_of_a_comparison() -> None:
    noise = Noise((Rule("sysctl:kernel.hostname", en="a name", zh="名字"),))

    found = contrasts([whole("a", kernel_hostname="a")], [whole("b", kernel_hostname="b")], noise.covers)

    assert (found.contrasts, found.noise) == ((), 1)


def test_a_node_against_itself_tells_what_was_and_what_is() -> None:
    before, after = whole("a", a_b="1", a_gone="x"), whole("a", a_b="2", a_new="y")

    assert [(one.name, one.before, one.after) for one in changes(before, after, never)] == [
        ("sysctl:a.b", "1", "2"),
        ("sysctl:a.gone", "x", False),
        ("sysctl:a.new", False, "y"),
    ]


def test_what_was_not_read_on_one_of_the_days_did_not_change() -> None:
    assert changes(whole("a", a_b="1"), Print.whole("a", frozenset(), {}), never) == ()


settings = st.dictionaries(st.sampled_from(["sysctl:a", "sysctl:b"]), st.none() | st.sampled_from(["0", "1"]))
sides = st.lists(settings, min_size=1, max_size=6)


@given(sides)
def test_nothing_tells_a_side_from_itself(nodes: list[dict[str, str | None]]) -> None:
    prints = [Print.whole(str(n), SYSCTL, held) for n, held in enumerate(nodes)]

    found = contrasts(prints, prints, never)

    assert (found.contrasts, found.unlike) == ((), 0)


@given(sides, sides)
def test_which_side_is_called_a_changes_no_suspicion(
    a: list[dict[str, str | None]], b: list[dict[str, str | None]]
) -> None:
    one = [Print.whole(str(n), SYSCTL, held) for n, held in enumerate(a)]
    other = [Print.whole(str(n), SYSCTL, held) for n, held in enumerate(b)]

    there = {found.name: round(found.suspicion, 9) for found in contrasts(one, other, never).contrasts}
    back = {found.name: round(found.suspicion, 9) for found in contrasts(other, one, never).contrasts}
    assert there == back
