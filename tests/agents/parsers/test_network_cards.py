"""Ports, counters, rings and channels of network cards."""

from __future__ import annotations

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.ethtool import Channels, Rings, parse_channels, parse_rings, parse_statistics
from readiness_agent.parsers.infiniband import parse_counter, parse_rate, parse_state

STATISTICS = """NIC statistics:
     rx_packets: 81234567
     rx_discards_phy: 12
     rx_packets_phy: 99887766
     rx_prio3_pause: 0
     [0]: rx_bytes: 7
     ch0_events: 4
"""
RINGS = """Ring parameters for ens1f0np0:
Pre-set maximums:
RX:\t\t8192
RX Mini:\tn/a
RX Jumbo:\tn/a
TX:\t\t8192
Current hardware settings:
RX:\t\t1024
RX Mini:\tn/a
RX Jumbo:\tn/a
TX:\t\t2048
RX Buf Len:\tn/a
"""
CHANNELS = """Channel parameters for ens1f0np0:
Pre-set maximums:
RX:\t\tn/a
TX:\t\tn/a
Other:\t\tn/a
Combined:\t63
Current hardware settings:
RX:\t\tn/a
TX:\t\tn/a
Other:\t\tn/a
Combined:\t48
"""


@pytest.mark.parametrize(
    ("text", "rate"),
    [("400 Gb/sec (4X NDR)\n", 400), ("200 Gb/sec (4X HDR)\n", 200), ("100 Gb/sec (4X EDR)\n", 100),
     ("56 Gb/sec (4X FDR)\n", 56), ("2.5 Gb/sec (1X SDR)\n", 2.5), ("10 Gb/sec (4X SDR)\n", 10)],
)  # fmt: skip
def test_the_rate_of_a_port_is_in_gigabits_a_second(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "400\n", "400 Gb/sec", "400 GB/sec (4X NDR)\n", "4 Gb/s\n"])
def test_a_rate_in_other_words_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [("4: ACTIVE\n", "ACTIVE"), ("1: DOWN\n", "DOWN"), ("5: LinkUp\n", "LinkUp"), ("3: Disabled\n", "Disabled")],
)
def test_the_state_of_a_port_is_the_word_behind_its_number(text: str, word: str) -> None:
    assert parse_state(text) == word


@pytest.mark.parametrize("text", ["", "4: ACT", "ACTIVE\n", "4\n"])
def test_a_state_without_number_or_end_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_state(text)


def test_a_counter_is_a_whole_number_with_an_end() -> None:
    assert parse_counter("317548853677\n") == 317548853677
    for cut in ("", "3175", "-1\n", "N/A (no PMA)\n"):
        with pytest.raises(Unreadable):
            parse_counter(cut)


def test_statistics_of_a_card_by_name() -> None:
    found = parse_statistics(STATISTICS)

    assert (found["rx_discards_phy"], found["rx_packets_phy"]) == (12, 99887766)
    assert found["rx_packets"] == 81234567


def test_a_statistic_that_is_cut_is_left_out() -> None:
    assert "rx_packets_phy" not in parse_statistics(STATISTICS[: STATISTICS.index("887766")])


def test_the_rings_in_use_are_not_the_largest_possible_ones() -> None:
    assert parse_rings(RINGS) == Rings(rx=1024, tx=2048, rx_max=8192, tx_max=8192)


def test_channels_in_use_are_the_combined_ones() -> None:
    assert parse_channels(CHANNELS) == Channels(current=48, maximum=63)


def test_channels_that_are_not_combined_are_those_that_receive() -> None:
    text = CHANNELS.replace("Combined:\t48", "Combined:\t0").replace(
        "RX:\t\tn/a\nTX:\t\tn/a\nOther:\t\tn/a\nCombined:\t0", ("RX:\t\t16\nTX:\t\t16\nOther:\t\tn/a\nCombined:\t0")
    )

    assert parse_channels(text).current == 16


@pytest.mark.parametrize("end", [0, 40, 120, RINGS.index("Current"), RINGS.index("1024"), RINGS.index("2048")])
def test_rings_that_are_cut_are_unreadable(end: int) -> None:
    with pytest.raises(Unreadable):
        parse_rings(RINGS[:end])


@pytest.mark.parametrize("end", [0, CHANNELS.index("Current"), CHANNELS.index("48")])
def test_channels_that_are_cut_are_unreadable(end: int) -> None:
    with pytest.raises(Unreadable):
        parse_channels(CHANNELS[:end])
