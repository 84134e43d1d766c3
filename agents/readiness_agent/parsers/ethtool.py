"""``ethtool -S`` (counters), ``-g`` (rings) and ``-l`` (channels) of one interface."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional

from readiness_agent.facts import Unreadable

_STATISTIC = re.compile(r"\s+([A-Za-z0-9_.-]+): ([0-9]{1,20})\n")
_SETTING = re.compile(r"([A-Za-z ]+):\s+([0-9]{1,9}|n/a)\s*\n")
_MAXIMUMS, _CURRENT = "Pre-set maximums:", "Current hardware settings:"


class Rings(NamedTuple):
    """Descriptors in the receive and send rings, as set and at most."""

    rx: int
    tx: int
    rx_max: int
    tx_max: int


class Channels(NamedTuple):
    """Queues of the interface, as set and at most."""

    current: int
    maximum: int


def parse_statistics(text: str) -> Dict[str, int]:
    """Counters by name; a line that is cut or holds anything else is left out."""
    found = (_STATISTIC.fullmatch(line) for line in text.splitlines(keepends=True))
    return {one[1]: int(one[2]) for one in found if one}


def parse_rings(text: str) -> Rings:
    """The rings.

    Raises:
        Unreadable: a value is missing.
    """
    most, now = _settings(text, _MAXIMUMS), _settings(text, _CURRENT)
    values = (now.get("RX"), now.get("TX"), most.get("RX"), most.get("TX"))
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        raise Unreadable("ethtool -g does not show receive and send rings, as set and at most")
    return Rings(*known)


def parse_channels(text: str) -> Channels:
    """Combined channels; on cards that keep the two directions apart, those that receive.

    Raises:
        Unreadable: a value is missing.
    """
    most, now = _settings(text, _MAXIMUMS), _settings(text, _CURRENT)
    current, maximum = (part.get("Combined") or part.get("RX") for part in (now, most))
    if current is None or maximum is None:
        raise Unreadable("ethtool -l shows no channels, as set and at most")
    return Channels(current, maximum)


def _settings(text: str, heading: str) -> Dict[str, Optional[int]]:
    """The lines below *heading*, up to the next one; ``n/a`` is None."""
    lines = text.partition(heading)[2].splitlines(keepends=True)[1:]
    values: Dict[str, Optional[int]] = {}
    for line in lines:
        found = _SETTING.fullmatch(line)
        if not found:
            break
        values[found[1].strip()] = None if found[2] == "n/a" else int(found[2])
    return values
