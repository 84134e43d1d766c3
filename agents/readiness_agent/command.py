"""Runs one command of a probe: argument list, deadline, own process group, output into files in memory.

Files and not pipes: a grandchild that keeps a pipe open would hold its reader for ever; a file is simply read when
the command has ended. ``posix_spawn`` and not ``subprocess``: that import alone costs more than most probes.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Dict, List, Sequence, Tuple

from readiness_agent.facts import HUNG, MISSING, UNREADABLE, CouldNotMeasure
from readiness_agent.processes import Stuck, end_all, group_members
from readiness_agent.source import CommandResult, from_os_error

MAX_OUTPUT_BYTES = 8 * 1024 * 1024

SYSTEM_PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/nvidia/bin"
"""Searched after PATH: cron gives only ``/usr/bin:/bin``."""

POLL_SHORTEST, POLL_LONGEST = 0.001, 0.02


class Hung(CouldNotMeasure):
    """A command did not end before its deadline; ``stuck`` lists what ignored even KILL."""

    def __init__(self, detail: str, stuck: Sequence[Stuck]) -> None:
        super().__init__(HUNG, detail)
        self.stuck = tuple(stuck)


def run_command(argv: Sequence[str], deadline: float) -> CommandResult:
    """Run *argv* for at most *deadline* seconds.

    Raises:
        CouldNotMeasure: ``missing`` or ``denied`` when it cannot be started, ``hung`` (as :class:`Hung`) when it
            does not end in time, ``unreadable`` when it says more than 8 MiB. A command that ends with any exit code
            is a result, not an error.
    """
    started = time.monotonic()
    out, err = os.memfd_create("stdout"), os.memfd_create("stderr")
    try:
        pid = _spawn(argv, out, err)
        exit_code = _wait(pid, started + deadline, f"{argv[0]}: no answer after {deadline:g} s")
        seconds = time.monotonic() - started
        return CommandResult(tuple(argv), exit_code, _text(out, argv[0]), _text(err, argv[0]), seconds)
    finally:
        os.close(out)
        os.close(err)


def find_tool(name: str) -> str:
    """The path of a tool on PATH or in the usual system directories; raises ``missing``."""
    if "/" in name:
        return name
    for directory in f"{os.environ.get('PATH', '')}:{SYSTEM_PATHS}".split(":"):
        path = os.path.join(directory, name)
        if directory and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise CouldNotMeasure(MISSING, f"{name}: not installed (looked in PATH and the system directories)")


def _spawn(argv: Sequence[str], out: int, err: int) -> int:
    null = os.devnull
    actions: List[Tuple[object, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, err, 2),
    ]
    defaults = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM)
    try:
        return os.posix_spawn(
            find_tool(argv[0]), list(argv), _environment(), file_actions=actions, setpgroup=0, setsigdef=defaults
        )
    except OSError as error:
        raise from_os_error(error, argv[0]) from error


def _environment() -> Dict[str, str]:
    """Nothing of the caller's but PATH: output must not depend on a language, a proxy or a preload."""
    return {"PATH": f"{os.environ.get('PATH', '')}:{SYSTEM_PATHS}".lstrip(":"), "LC_ALL": "C", "HOME": "/"}


def _wait(pid: int, end: float, complaint: str) -> int:
    """The exit code of *pid* (negative: the signal that ended it); whatever it left running is ended too."""
    pause, asker = POLL_SHORTEST, os.getppid()
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() >= end or os.getppid() != asker:  # nobody is left to read the answer
            raise Hung(complaint, _end_group(pid))
        time.sleep(pause)
        pause = min(pause * 1.5, POLL_LONGEST)
    _kill_group(pid)  # before reaping: until then nobody else can get this process group's number
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _end_group(pid: int) -> List[Stuck]:
    stuck = end_all(lambda: group_members(pid))
    os.waitpid(pid, os.WNOHANG)
    return stuck


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # nothing left, or nothing of ours


def _text(file: int, tool: str) -> str:
    """What a command wrote. Half of an answer is none: a parser could take what was cut off for absent."""
    if os.fstat(file).st_size > MAX_OUTPUT_BYTES:
        raise CouldNotMeasure(UNREADABLE, f"{tool}: more than {MAX_OUTPUT_BYTES // 1024 // 1024} MiB of output")
    return os.pread(file, MAX_OUTPUT_BYTES, 0).decode("utf-8", "replace")
