"""``/proc/meminfo`` and ``/proc/vmstat``."""

from __future__ import annotations

import re

from readiness_agent.facts import Unreadable


def parse_memory_total(text: str) -> int:
    """Memory that the kernel manages, in whole MiB.

    Raises:
        Unreadable: no complete line ``MemTotal``.
    """
    found = re.search(r"^MemTotal: +([0-9]{1,18}) kB$", text, re.MULTILINE)
    if not found:
        raise Unreadable("/proc/meminfo has no complete line MemTotal")
    return int(found.group(1)) // 1024


def parse_oom_kill_count(text: str) -> int:
    """Processes that the kernel killed for want of memory since boot, globally or in a cgroup.

    Raises:
        Unreadable: the kernel does not count them (before 4.13), or the line is cut.
    """
    found = re.search(r"^oom_kill ([0-9]{1,18})\n", text, re.MULTILINE)
    if not found:
        raise Unreadable("/proc/vmstat has no complete line oom_kill")
    return int(found.group(1))
