"""Sensors of a baseboard controller as ``ipmitool sdr elist all`` lists them: name, number, state, entity, reading."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable

_LINE = re.compile(r"\s*([^|]+?)\s*\|\s*([0-9A-Fa-f]{2})h\s*\|\s*(\w+)\s*\|\s*([0-9.]+)\s*\|\s*(.*?)\s*")
_DEGREES = re.compile(r"(-?[0-9]{1,3}(?:\.[0-9]+)?) degrees C")
_INLET = re.compile(r"\binlet|\bambient|inlet\b|front ?panel|\bfnt pnl\b", re.IGNORECASE)
_WATCHED = re.compile(r"\bfan|\bpsu?[ _]?[0-9]*\b|power ?supply|\bpwr\b|leak|redundancy", re.IGNORECASE)
_BAD_WORDS = re.compile(
    r"failure|fault|lost|non-redundant|insufficient|out.of.range|leak(?:age)? detected|state asserted|critical",
    re.IGNORECASE,
)
_ABSENT_STATES = ("ns", "na")
"""No reading: nothing is plugged in there, or the part is off."""
_GOOD_STATE = "ok"


class Sensor(NamedTuple):
    """One line."""

    name: str
    state: str
    """``ok``, ``ns`` (no reading), or a threshold that is crossed: ``nc``, ``cr``, ``nr``, with l or u before it."""
    reading: str

    @property
    def is_inlet(self) -> bool:
        """Whether it measures the air that comes in."""
        return bool(_INLET.search(self.name)) and bool(_DEGREES.search(self.reading))

    @property
    def degrees(self) -> Optional[float]:
        """Its temperature, where it is one."""
        found = _DEGREES.fullmatch(self.reading)
        return float(found[1]) if found else None

    @property
    def alarms(self) -> bool:
        """Whether a fan, a power supply, their redundancy or a leak sensor complains."""
        if not _WATCHED.search(self.name) or self.state in _ABSENT_STATES:
            return False
        return self.state != _GOOD_STATE or bool(_BAD_WORDS.search(self.reading))


def parse_sensors(text: str) -> Tuple[Sensor, ...]:
    """All sensors in the list.

    Raises:
        Unreadable: there is none, or the list breaks off within a line.
    """
    if text and not text.endswith("\n"):
        raise Unreadable("the list of sensors breaks off")
    found: List[Sensor] = []
    for line in text.splitlines():
        cells = _LINE.fullmatch(line)
        if cells:
            found.append(Sensor(cells[1], cells[3].lower(), cells[5]))
    if not found:
        raise Unreadable("ipmitool lists no sensor")
    return tuple(found)
