"""``/proc/swaps``."""

from __future__ import annotations

from readiness_agent.facts import Unreadable


def parse_swap_count(text: str) -> int:
    """How many swap devices and files are in use.

    Raises:
        Unreadable: the header is missing; without it an empty text would look like *no swap*.
    """
    lines = text.splitlines()
    if not lines or lines[0].split() != ["Filename", "Type", "Size", "Used", "Priority"]:
        raise Unreadable("/proc/swaps does not begin with its header")
    return sum(1 for line in lines[1:] if line.strip())
