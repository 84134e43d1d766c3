"""``/proc/net/softnet_stat``: one row a CPU, all columns in hexadecimal."""

from __future__ import annotations

import re

from readiness_agent.facts import Unreadable

_ROW = re.compile(r"[0-9a-f]{8} ([0-9a-f]{8})(?: [0-9a-f]{8})+")


def parse_softnet_dropped(text: str) -> int:
    """Packets dropped because the backlog queue of a CPU was full, since boot, over all CPUs.

    Raises:
        Unreadable: there is no row, or a row is cut.
    """
    rows = [_ROW.fullmatch(line.rstrip()) for line in text.splitlines()]
    dropped = [int(row.group(1), 16) for row in rows if row]
    if not rows or len(dropped) != len(rows):
        raise Unreadable("/proc/net/softnet_stat has no row, or one that is not made of 8-digit hexadecimal columns")
    return sum(dropped)
