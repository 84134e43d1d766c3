"""Speed and width of a PCIe link, as sysfs and lspci write them."""

from __future__ import annotations

import re
from typing import Optional

from readiness_agent.facts import Unreadable

GENERATIONS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6, "128": 7}
"""Gigatransfers a second of one lane, by the PCI Express base specification, and the generation that runs at it."""

WIDTHS = (1, 2, 4, 8, 12, 16, 32)
"""Lanes that a link can have; sysfs shows 0 or 255 where there is no link."""

_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) ?GT/s(?: PCIe)?")


def generation_of_speed(text: str) -> Optional[int]:
    """The generation of ``32.0 GT/s PCIe`` or ``32GT/s``; None for ``Unknown`` and everything else."""
    found = _SPEED.fullmatch(text.strip())
    return GENERATIONS.get(found[1].replace(".0", "")) if found else None


def parse_width(text: str) -> int:
    """Lanes in ``current_link_width`` or ``max_link_width``.

    Raises:
        Unreadable: it is no width that a link can have.
    """
    found = re.fullmatch(r"([0-9]{1,3})\n", text)
    if not found or int(found[1]) not in WIDTHS:
        raise Unreadable(f"{text.strip()[:40]!r} is no width of a PCIe link")
    return int(found[1])


def payload_rate(speed: str, lanes: int) -> Optional[float]:
    """Gb/s that *lanes* carry at *speed* (``32.0 GT/s PCIe``) after their encoding; None for ``Unknown``.

    8b/10b up to generation 2, 128b/130b up to 5, flits of 242 in 256 bytes from 6 on (PCI Express base specification).
    """
    generation, found = generation_of_speed(speed), _SPEED.fullmatch(speed.strip())
    if generation is None or found is None:
        return None
    efficiency = 0.8 if generation < 3 else 128 / 130 if generation < 6 else 242 / 256
    return float(found[1]) * lanes * efficiency
