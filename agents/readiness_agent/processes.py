"""Ending processes that this agent started, and knowing them again on a later tick."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

TERM_GRACE = 1.0
"""Seconds between TERM and KILL: a GPU tool that is killed inside the driver can leave the GPU unusable."""

PR_SET_CHILD_SUBREAPER = 36
"""Of Linux' ``prctl``."""

ZOMBIE = "Z"

KILL_GRACE = 0.5
"""Seconds after KILL until a process counts as stuck in the kernel."""


class Stuck(NamedTuple):
    """A process that ignored KILL. Pid and start time together name it for as long as the machine is up."""

    pid: int
    started: int
    """Clock ticks after boot, field 22 of ``/proc/PID/stat``."""


class _Process(NamedTuple):
    """One line of ``/proc/PID/stat``."""

    state: str
    parent: int
    group: int
    session: int
    started: int


def become_subreaper() -> None:
    """Let whatever this process starts come back to it when orphaned, so that no detached child is lost sight of."""
    library = c_library()
    if library is not None:
        library.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def c_library() -> Optional[Any]:
    """The C library of this process; None where Python was built without ``ctypes``."""
    try:
        import ctypes

        return ctypes.CDLL(None)
    except (ImportError, OSError):
        return None


def start_time(pid: int) -> Optional[int]:
    """When *pid* was started, in clock ticks after boot; None when there is no such process, or only its zombie."""
    found = _look_at(str(pid))
    return None if found is None or found.state == ZOMBIE else found.started


def is_alive(stuck: Stuck) -> bool:
    """Whether that very process still exists."""
    return start_time(stuck.pid) == stuck.started


def group_members(group: int) -> List[int]:
    """Living processes of a process group, zombies left out."""
    return [pid for pid, one in _living().items() if one.group == group]


def has_children() -> bool:
    """Whether this process has a living child; those that have ended are forgotten."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def families(*roots: int) -> Callable[[], List[int]]:
    """A finder of all that *roots* started, and of themselves; wherever it moved: other group, session or parent."""
    known: Set[Stuck] = set()

    def find() -> List[int]:
        living = _living()
        named = {Stuck(pid, one.started) for pid, one in living.items()}
        members = {each.pid for each in known & named} | {
            pid for pid, one in living.items() if pid in roots or one.session in roots
        }
        grown = members
        while grown:
            grown = {pid for pid, one in living.items() if one.parent in grown} - members
            members |= grown
        known.update(Stuck(pid, living[pid].started) for pid in members)
        return sorted(members)

    return find


def children_of(parent: int) -> Callable[[], List[int]]:
    """The same of everything below *parent*, without itself."""
    find = families(parent)
    return lambda: [pid for pid in find() if pid != parent]


def _living() -> Dict[int, _Process]:
    """All processes of the machine but zombies."""
    looked_at = {int(name): _look_at(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: one for pid, one in looked_at.items() if one is not None and one.state != ZOMBIE}


def _look_at(pid: str) -> Optional[_Process]:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()  # before it stands the name, which may contain anything
    except OSError:
        return None
    return _Process(fields[0], int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def end_all(find: Callable[[], List[int]], grace: float = TERM_GRACE) -> List[Stuck]:
    """End every process that *find* lists: TERM, *grace* seconds, KILL. Those that ignore both are returned, not
    waited for.

    A stopped process gets CONT after TERM, since it could not act on TERM otherwise.
    """
    if _signal_until_gone(find, (signal.SIGTERM, signal.SIGCONT), grace):
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
