"""One cell of nvidia-smi's output: a value with a unit, a word, or one of many ways to say that it is unknown."""

from __future__ import annotations

import re
from typing import Mapping, Optional

LOST_WORDS = re.compile(r"ERR!|GPU is lost|requires? reset|reset required", re.IGNORECASE)
"""A cell that says so belongs to a GPU that is gone or must be reset, whatever the column."""

_BUS = re.compile(r"(?:([0-9a-f]{4}|[0-9a-f]{8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*")
_WORDS: Mapping[str, bool] = {
    "Yes": True,
    "No": False,
    "Enabled": True,
    "Disabled": False,
    "Active": True,
    "Not Active": False,
}


def number(cell: Optional[str], unit: str = "") -> Optional[int]:
    """The whole number in *cell* when it stands there with exactly this *unit* (``59 C``, ``16x``), else None."""
    if cell is None:
        return None
    found = re.fullmatch(rf"(-?[0-9]{{1,18}}) ?{re.escape(unit)}", cell.strip())
    return int(found.group(1)) if found else None


def count(cell: Optional[str], unit: str = "") -> Optional[int]:
    """Like :func:`number`, for what can never be negative."""
    value = number(cell, unit)
    return value if value is not None and value >= 0 else None


def state(cell: Optional[str]) -> Optional[bool]:
    """True for Yes, Enabled, Active; False for No, Disabled, Not Active; None for every other text."""
    return None if cell is None else _WORDS.get(cell.strip())


def identifier(cell: Optional[str]) -> Optional[str]:
    """A version, serial or part number: one token with a digit in it. ``N/A`` and sentences are None."""
    if cell is None:
        return None
    token = cell.strip()
    has_digit = any(letter in "0123456789" for letter in token)
    return token if has_digit and _IDENTIFIER.fullmatch(token) else None


def version(cell: Optional[str]) -> Optional[str]:
    """The version that begins *cell*; newer drivers add a note in brackets behind it."""
    found = re.match(r"\s*([0-9]+(?:\.[0-9]+)+)(?=\s|$)", cell or "")
    return found.group(1) if found else None


def bus_id(text: Optional[str]) -> Optional[str]:
    """The first PCI address in *text*, spelled as the kernel does: ``0000:1a:00.0``."""
    found = _BUS.search(text or "")
    if not found:
        return None
    domain, bus, device, function = found.groups("0000")
    return f"{int(domain, 16):04x}:{bus}:{device}.{function}".lower()
