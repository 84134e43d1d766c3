"""``numactl --hardware``."""

from __future__ import annotations

import re

from readiness_agent.facts import Unreadable


def parse_numactl_nodes(text: str) -> int:
    """How many NUMA nodes the machine has.

    Raises:
        Unreadable: the line that says so is missing, as on a kernel without NUMA.
    """
    found = re.search(r"^available: ([0-9]{1,5}) nodes? \([0-9,-]+\)$", text, re.MULTILINE)
    if not found:
        raise Unreadable("numactl --hardware shows no line 'available: N nodes'")
    return int(found.group(1))
