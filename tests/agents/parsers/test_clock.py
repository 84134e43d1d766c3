"""What the kernel, chrony and systemd say about the clock."""

from __future__ import annotations

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.clock import parse_adjtimex, parse_chrony_tracking, parse_timesync_status
from tests.agents.parsers.inputs import shared

TRACKING = """Reference ID    : A9FEA97B (ntp1.example)
Stratum         : 3
Ref time (UTC)  : Sun Nov 29 20:19:20 2026
System time     : 0.000412345 seconds slow of NTP time
Last offset     : -0.000012345 seconds
Leap status     : Normal
"""


def test_an_unsynchronised_kernel_clock_is_not_synchronised_and_has_no_offset() -> None:
    clock = parse_adjtimex(shared("captures/h200x2-burn/commands/adjtimex"))  # returned 5, status 64

    assert (clock.synchronized, clock.offset_ms) == (False, None)


def test_a_synchronised_clock_without_a_phase_loop_has_no_offset_of_the_kernel() -> None:
    clock = parse_adjtimex('{"ret": 0, "offset": 0, "maxerror": 500, "esterror": 0, "status": 8192}')

    assert (clock.synchronized, clock.offset_ms) == (True, None)


def test_the_phase_loop_gives_the_offset_in_nanoseconds_or_microseconds() -> None:
    nano = parse_adjtimex('{"ret": 0, "offset": -1500000, "maxerror": 1, "esterror": 1, "status": 8193}')
    micro = parse_adjtimex('{"ret": 0, "offset": 1500, "maxerror": 1, "esterror": 1, "status": 1}')

    assert nano.offset_ms == pytest.approx(1.5)
    assert micro.offset_ms == pytest.approx(1.5)


@pytest.mark.parametrize("answer", ['{"ret": 5, "status": 0}', '{"ret": 0, "status": 64}'])
def test_either_sign_of_the_kernel_alone_means_not_synchronised(answer: str) -> None:
    assert parse_adjtimex(answer).synchronized is False


@pytest.mark.parametrize(
    "answer", ["", "{", "[]", "{}", '{"ret": "0", "status": 0}', '{"ret": 0}', '{"ret": -1, "status": 0}']
)
def test_an_answer_of_another_shape_is_unreadable(answer: str) -> None:
    with pytest.raises(Unreadable):
        parse_adjtimex(answer)


def test_chrony_gives_its_offset_in_milliseconds() -> None:
    clock = parse_chrony_tracking(TRACKING)

    assert clock.synchronized is True
    assert clock.offset_ms == pytest.approx(0.412345)


def test_chrony_without_a_source_is_not_synchronised() -> None:
    clock = parse_chrony_tracking(TRACKING.replace("Normal", "Not synchronised"))

    assert (clock.synchronized, clock.offset_ms) == (False, None)


@pytest.mark.parametrize(
    "text", ["", "506 Cannot talk to daemon\n", TRACKING[:-20], TRACKING.replace("System", "Syst?m")]
)
def test_a_part_of_the_tracking_report_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_chrony_tracking(text)


@pytest.mark.parametrize(
    ("printed", "milliseconds"),
    [("+1.234ms", 1.234), ("-345us", 0.345), ("+12s", 12000.0), ("+1min 2s", 62000.0), ("0", 0.0), ("-7ns", 0.000007)],
)
def test_timesyncd_prints_its_offset_in_its_own_units(printed: str, milliseconds: float) -> None:
    text = f"       Server: 10.0.0.1 (ntp.example)\n       Offset: {printed}\n        Delay: 1.2ms\n"

    assert parse_timesync_status(text) == pytest.approx(milliseconds)


@pytest.mark.parametrize("text", ["", "Server: n/a (ntp.example)\nPoll interval: 0\n", "Offset: soon\n"])
def test_timesyncd_without_an_offset_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_timesync_status(text)
