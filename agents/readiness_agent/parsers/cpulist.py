"""Lists of CPUs or NUMA nodes as the kernel writes them: ``0-31,64``."""

from __future__ import annotations

import re
from typing import List, Tuple

from readiness_agent.facts import Unreadable

MOST = 65536
"""More members than any Linux has CPUs: a longer range is damage, not a machine."""


def parse_cpulist(text: str) -> Tuple[int, ...]:
    """All members of the list.

    Raises:
        Unreadable: it is no such list.
    """
    if not text.endswith("\n"):
        raise Unreadable(f"{text[:40]!r} is cut: the kernel ends such a list with a new line")
    members: List[int] = []
    for part in text.strip().split(",") if text.strip() else ():
        found = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", part)
        first, last = (int(found.group(1)), int(found.group(2) or found.group(1))) if found else (1, 0)
        if not first <= last < MOST:
            raise Unreadable(f"{text.strip()[:40]!r} is no list of numbers such as 0-31,64")
        members += range(first, last + 1)
    return tuple(members)
