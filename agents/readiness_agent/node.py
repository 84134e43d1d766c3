"""Who this node is: hostname, boot, clocks. Nothing here can hang: these files are the kernel's own."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple, Optional

from readiness_agent.values import finite

BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Moment(NamedTuple):
    """One reading of the node's clocks. Ages are differences of ``boottime``; ``unix`` can step."""

    unix: float
    boottime: float
    """CLOCK_BOOTTIME: goes on while the machine sleeps, never steps."""
    boot_id: str


def now() -> Moment:
    """Read the clocks, once an operation."""
    return Moment(time.time(), time.clock_gettime(time.CLOCK_BOOTTIME), boot_id())


def boot_id() -> str:
    """The kernel's name for this boot; it changes with every reboot."""
    with open(BOOT_ID, encoding="ascii") as file:
        return file.read().strip()


def hostname() -> str:
    """The node's name as the scheduler knows it: short, lower case, and text whatever bytes the kernel was given."""
    name = os.uname().nodename.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return name.partition(".")[0].lower()


def seconds_since(earlier: Moment, later: Moment) -> float:
    """Age of *earlier* at *later*, never negative.

    Within one boot by CLOCK_BOOTTIME. Across a reboot by the wall clock, and never younger than the present boot:
    what was written before it is at least that old, whatever the wall clock says.
    """
    if earlier.boot_id == later.boot_id:
        return max(0.0, later.boottime - earlier.boottime)
    return max(later.boottime, later.unix - earlier.unix)


def stored_moment(value: Any) -> Optional[Moment]:
    """A moment as it was written to a file; None for anything else."""
    if not isinstance(value, (list, tuple)) or len(value) != len(Moment._fields):
        return None
    unix, boottime, boot = finite(value[0]), finite(value[1]), value[2]
    if unix is None or boottime is None or not isinstance(boot, str):
        return None
    return Moment(unix, boottime, boot)


def stored_age(value: Any, later: Moment) -> Optional[float]:
    """Seconds from a stored moment to *later*; None when there is none, or one that this boot has not reached."""
    earlier = stored_moment(value)
    if earlier is None or (earlier.boot_id == later.boot_id and earlier.boottime > later.boottime):
        return None
    return seconds_since(earlier, later)
