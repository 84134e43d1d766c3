"""CPU time of process trees, read from /proc: the figure that a noisy machine disturbs least."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class CpuMeter:
    """Adds up user and system time of a process and all that it started, reaped children included."""

    root: int

    def seconds(self) -> float:
        """CPU seconds spent by the tree so far."""
        return sum(_ticks(pid) for pid in _tree(self.root)) / TICKS_PER_SECOND


def own_seconds() -> float:
    """CPU seconds of this process alone."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = _fields(stat)
        if fields:
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue.extend(children.get(pid, []))
    return found


def _ticks(pid: int) -> int:
    fields = _fields(Path(f"/proc/{pid}/stat"))
    return sum(int(fields[index]) for index in (11, 12, 13, 14)) if fields else 0


def _fields(stat: Path) -> list[str]:
    """The fields after the program's name, which may itself hold spaces; empty when the process is gone."""
    try:
        return stat.read_text().rpartition(")")[2].split()
    except OSError:
        return []
