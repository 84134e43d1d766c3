"""Two ends make one link: the weakest card, both directions, and what was not measured is said."""

from dataclasses import replace

import pytest

from checks.domain.link_facts import Card, Told, link_facts

NAMES = ("gpu001", "gpu002")
#: An NDR card on sixteen lanes of generation 5: 400 x 4096 / 4122 = 397.477 Gb/s are left for payload.
NDR = Card(0, rate=400.0, pcie=504.1, mtu=4096, infiniband=True, host=393.5, gpu=365.7)


def told(*cards: Card, together: float | None = None, problem: str = "") -> Told:
    total = sum(card.host or 0.0 for card in cards)
    return Told(cards, together if together is not None else total, 1048576, 5.0, problem)


def test_a_rate_is_told_as_its_share_of_what_headers_leave_of_the_line() -> None:
    found = link_facts(told(NDR), told(replace(NDR, host=389.5, gpu=357.8)), cards=1, gpu=True, names=NAMES)

    assert found.problem == ""
    assert found.facts == {
        "host_share": 0.99, "gpu_share": 0.9201, "host_reverse_share": 0.9799, "gpu_reverse_share": 0.9002,
        "message_size": 1048576, "duration": 5.0, "mtu": 4096, "host_bandwidth": 389.5, "multi_flow_loss": 0.0,
    }  # fmt: skip


def test_roce_headers_at_an_mtu_of_1024_leave_92_6_percent() -> None:
    assert Card(0, 100.0, 504.1, 1024, infiniband=False).limit == pytest.approx(92.586, abs=0.001)


def test_a_card_on_few_lanes_is_held_against_its_lanes() -> None:
    assert Card(0, 400.0, 252.06, 4096, infiniband=True).limit == 252.06


def test_the_slower_end_limits_both() -> None:
    hdr = replace(NDR, rate=200.0, host=196.0)
    found = link_facts(told(hdr), told(replace(NDR, host=197.0)), cards=1, gpu=True, names=NAMES)

    assert found.facts["host_reverse_share"] == 0.9913  # 197 of 198.74


def test_the_weakest_card_decides() -> None:
    pair = (NDR, replace(NDR, number=1, host=100.0))
    found = link_facts(told(*pair), told(NDR, replace(NDR, number=1)), cards=2, gpu=True, names=NAMES)

    assert found.facts["host_share"] == 0.2516
    assert found.facts["host_bandwidth"] == 100.0


def test_cards_that_hinder_each_other_show_in_the_loss() -> None:
    pair = (replace(NDR, host=390.0), replace(NDR, number=1, host=390.0))
    found = link_facts(told(*pair, together=585.0), told(*pair), cards=2, gpu=True, names=NAMES)

    assert found.facts["multi_flow_loss"] == 25.0


def test_an_end_that_said_nothing_leaves_no_share_and_is_named() -> None:
    found = link_facts(told(NDR), None, cards=1, gpu=True, names=NAMES)

    assert found.problem == "gpu002 did not say what it found"
    assert "host_share" not in found.facts


def test_a_card_that_was_not_measured_is_named_and_what_was_measured_still_counts() -> None:
    found = link_facts(told(replace(NDR, host=100.0)), told(NDR), cards=2, gpu=True, names=NAMES)

    assert found.problem == "gpu001: nic1 was not measured"
    assert found.facts["host_share"] == 0.2516
    assert "multi_flow_loss" not in found.facts


def test_an_end_that_gave_up_says_why() -> None:
    found = link_facts(Told(problem="gpu002 did not come"), told(NDR), cards=1, gpu=True, names=NAMES)

    assert found.problem == "gpu001: gpu002 did not come"


def test_without_gpu_memory_the_rest_is_told_and_the_lack_is_said() -> None:
    found = link_facts(told(replace(NDR, gpu=None)), told(NDR), cards=1, gpu=False, names=NAMES)

    assert found.problem == "perftest of one of them writes from no GPU memory"
    assert found.facts["host_share"] == 0.99


def test_a_card_without_a_rate_hides_no_slow_write() -> None:
    slow = replace(NDR, number=1, host=1.0, gpu=1.0, rate=0.0)
    found = link_facts(told(NDR, slow), told(NDR, replace(NDR, number=1)), cards=2, gpu=True, names=NAMES)

    assert found.problem == "gpu001: nic1 has no rate at one of the ends"


def test_an_end_that_says_less_of_its_card_than_it_carries_makes_no_share() -> None:
    liar = replace(NDR, rate=40.0, host=39.5, gpu=39.5)
    found = link_facts(told(liar), told(NDR), cards=1, gpu=True, names=NAMES)

    assert found.problem == "gpu002: nic0 wrote more than the 39.7 Gb/s that its link can carry"


def test_no_card_and_no_sum_of_cards_writes_more_than_the_line() -> None:
    fast = link_facts(told(replace(NDR, gpu=4000.0)), told(NDR), cards=1, gpu=True, names=NAMES)
    total = link_facts(told(NDR, together=500.0), told(NDR), cards=1, gpu=True, names=NAMES)

    assert fast.problem == "gpu001: nic0 wrote more than the 397.5 Gb/s that its link can carry"
    assert total.problem == "gpu001: all cards at once wrote more than their links can carry"
