"""Ending processes that this agent started, and knowing them again on a later tick."""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, List, NamedTuple, Optional, Tuple

TERM_GRACE = 1.0
"""Seconds between TERM and KILL: a GPU tool that is killed inside the driver can leave the GPU unusable."""

KILL_GRACE = 0.5
"""Seconds after KILL until a process counts as stuck in the kernel."""


class Stuck(NamedTuple):
    """A process that ignored KILL. Pid and start time together name it for as long as the machine is up."""

    pid: int
    started: int
    """Clock ticks after boot, field 22 of ``/proc/PID/stat``."""


def start_time(pid: int) -> Optional[int]:
    """When *pid* was started, in clock ticks after boot; None when there is no such process, or only its zombie."""
    fields = _stat_fields(pid)
    if fields is None or fields[0] == "Z":
        return None
    return int(fields[19])


def is_alive(stuck: Stuck) -> bool:
    """Whether that very process still exists."""
    return start_time(stuck.pid) == stuck.started


def _stat_fields(pid: int) -> Optional[List[str]]:
    """Fields of ``/proc/PID/stat`` from the third on: the second holds the name, which may contain anything."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def session_members(session: int) -> List[int]:
    """Living processes of a session, zombies left out."""
    members = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        fields = _stat_fields(int(name))
        if fields is not None and fields[3] == str(session) and fields[0] != "Z":
            members.append(int(name))
    return members


def group_members(group: int) -> List[int]:
    """Living processes of a process group, zombies left out."""
    members = []
    for name in os.listdir("/proc"):
        fields = _stat_fields(int(name)) if name.isdigit() else None
        if fields is not None and fields[2] == str(group) and fields[0] != "Z":
            members.append(int(name))
    return members


def end_all(find: Callable[[], List[int]]) -> List[Stuck]:
    """End every process that *find* lists: TERM, then KILL. Those that ignore both are returned, not waited for.

    A stopped process gets CONT after TERM, since it could not act on TERM otherwise.
    """
    if _signal_until_gone(find, (signal.SIGTERM, signal.SIGCONT), TERM_GRACE):
        return []
    if _signal_until_gone(find, (signal.SIGKILL,), KILL_GRACE):
        return []
    found = [(pid, start_time(pid)) for pid in find()]
    return [Stuck(pid, started) for pid, started in found if started is not None]


def _signal_until_gone(find: Callable[[], List[int]], signals: Tuple[signal.Signals, ...], grace: float) -> bool:
    end = time.monotonic() + grace
    for pid in find():
        for number in signals:
            _send(pid, number)
    while find():
        if time.monotonic() >= end:
            return False
        time.sleep(0.02)
    return True


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # gone meanwhile, or a set-uid tool that is not ours to end: then it is reported as stuck
