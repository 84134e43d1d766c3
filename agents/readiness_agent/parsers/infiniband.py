"""Files below ``/sys/class/infiniband``: one value each, ended by a new line."""

from __future__ import annotations

import re

from readiness_agent.facts import Unreadable

SATURATED = 255
"""Where the 8-bit counters of a port stop, ``link_downed`` among them."""

_RATE = re.compile(r"([0-9]{1,4}(?:\.[0-9])?) Gb/sec \([0-9]{1,2}X [A-Z0-9]+\)\n")
_STATE = re.compile(r"[0-9]: ([A-Za-z_]+)\n")
_COUNTER = re.compile(r"([0-9]{1,20})\n")


def parse_rate(text: str) -> float:
    """Gb/s in ``400 Gb/sec (4X NDR)``; of a port that is down it means nothing.

    Raises:
        Unreadable: it is no rate.
    """
    found = _RATE.fullmatch(text)
    if not found:
        raise Unreadable(f"{text[:40]!r} is no rate of a port")
    return float(found[1])


def parse_state(text: str) -> str:
    """``ACTIVE`` in ``4: ACTIVE``, ``LinkUp`` in ``5: LinkUp``.

    Raises:
        Unreadable: it is no state.
    """
    found = _STATE.fullmatch(text)
    if not found:
        raise Unreadable(f"{text[:40]!r} is no state of a port")
    return found[1]


def parse_counter(text: str) -> int:
    """The value of one counter.

    Raises:
        Unreadable: it is no whole number; drivers write sentences where the hardware has no such counter.
    """
    found = _COUNTER.fullmatch(text)
    if not found:
        raise Unreadable(f"{text[:40]!r} is no counter")
    return int(found[1])
