"""What adjtimex, chrony and systemd-timesyncd say about the clock."""

from __future__ import annotations

import json
import re
from typing import Dict, NamedTuple, Optional

from readiness_agent.facts import Unreadable

TIME_ERROR = 5
"""Answer of adjtimex(2) when the clock is not synchronized."""
_LARGEST_LONG = 2**63
STA_PLL, STA_UNSYNC, STA_NANO = 0x0001, 0x0040, 0x2000

_MILLISECONDS: Dict[str, float] = {
    "d": 86_400_000.0, "h": 3_600_000.0, "min": 60_000.0, "s": 1000.0, "ms": 1.0, "us": 1e-3, "μs": 1e-3, "ns": 1e-6,
}  # fmt: skip

_NUMBER_AND_UNIT = r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(min|ms|us|μs|ns|h|d|s)"
_TERM = r"[0-9]{1,12}(?:\.[0-9]{1,12})?(?:min|ms|us|μs|ns|h|d|s)"


class ClockState(NamedTuple):
    """Whether the clock follows a reference, and how far it is from it."""

    synchronized: bool
    offset_ms: Optional[float]
    """Distance from the reference, without sign; None when the source does not know."""


def parse_adjtimex(text: str) -> ClockState:
    """The answer of adjtimex(2) as JSON; see :func:`clock_of_adjtimex`."""
    try:
        return clock_of_adjtimex(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise Unreadable("the answer of adjtimex is no JSON") from error


def clock_of_adjtimex(answer: object) -> ClockState:
    """The answer of adjtimex(2): its result ``ret``, ``status`` and ``offset``.

    The kernel knows an offset only while its own phase loop is in use (timesyncd, ntpd; not chrony).

    Raises:
        Unreadable: it is no such answer.
    """
    fields = answer if isinstance(answer, dict) else {}
    result, status, offset = (fields.get(name) for name in ("ret", "status", "offset"))
    if type(result) is not int or type(status) is not int or not 0 <= result <= TIME_ERROR:
        raise Unreadable("the answer of adjtimex lacks a valid result or status")
    synchronized = result != TIME_ERROR and not status & STA_UNSYNC
    if not synchronized or not status & STA_PLL or type(offset) is not int or abs(offset) > _LARGEST_LONG:
        return ClockState(synchronized, None)
    return ClockState(True, abs(offset) / (1e6 if status & STA_NANO else 1e3))


def parse_chrony_tracking(text: str) -> ClockState:
    """``chronyc tracking``.

    Raises:
        Unreadable: the lines *System time* or *Leap status* are missing or cut.
    """
    offset = re.search(
        r"^System time +: ([0-9]{1,12}\.[0-9]{1,12}) seconds (?:slow|fast) of NTP time$", text, re.MULTILINE
    )
    leap = re.search(r"^Leap status +: (Normal|Insert second|Delete second|Not synchronised)$", text, re.MULTILINE)
    if not offset or not leap:
        raise Unreadable("chronyc tracking shows no complete lines 'System time' and 'Leap status'")
    if leap.group(1) == "Not synchronised":
        return ClockState(False, None)
    return ClockState(True, float(offset.group(1)) * 1000)


def parse_timesync_status(text: str) -> float:
    """Milliseconds of offset, without sign, in ``timedatectl timesync-status``.

    Raises:
        Unreadable: it shows no offset, as before the first answer of a server.
    """
    found = re.search(rf"^\s*Offset: [+-]?(0|{_TERM}(?: {_TERM})*)$", text, re.MULTILINE)
    if not found:
        raise Unreadable("timedatectl timesync-status shows no offset")
    return sum(float(value) * _MILLISECONDS[unit] for value, unit in re.findall(_NUMBER_AND_UNIT, found.group(1)))
