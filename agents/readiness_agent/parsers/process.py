"""``/proc/PID/stat``, ``/proc/PID/status`` and ``/proc/PID/cgroup``."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.cpulist import parse_cpulist

_NUMBER = re.compile(r"[0-9]{1,20}")
_FIELDS_FROM_STATE, _STARTED = 21, 19
"""Field 3, the state, is the first behind the name; field 22 is the start; a 23rd shows that it is whole (proc(5))."""
_SLURM_JOB = re.compile(r"/(?:slurm[^/]*)(?:/[^/]+)*?/job_([0-9]+)(?:/|$)", re.MULTILINE)
_POD = re.compile(r"/kubepods[^\n]*?[/-]pod([0-9a-f][0-9a-f_-]*?)(?:\.slice)?(?:/|$)", re.MULTILINE)


class TaskStat(NamedTuple):
    """The part of ``/proc/PID/stat`` that we need."""

    pid: int
    name: str
    state: str
    """``D`` is uninterruptible sleep: waiting for a device or a server."""
    started: int
    """Clock ticks after boot; together with the pid it names a task for as long as the machine is up."""


def parse_task_stat(text: str) -> TaskStat:
    """One task; its name may hold blanks and brackets.

    Raises:
        Unreadable: fields are missing.
    """
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition(" (")
    fields = tail.split()
    if len(fields) < _FIELDS_FROM_STATE or not _NUMBER.fullmatch(pid) or not _NUMBER.fullmatch(fields[_STARTED]):
        raise Unreadable("a line of /proc/PID/stat is not complete")
    return TaskStat(int(pid), name, fields[0], int(fields[_STARTED]))


def parse_switches(text: str) -> int:
    """How often a task gave up or lost its CPU: unchanged between two looks means that it did not run.

    Raises:
        Unreadable: ``/proc/PID/status`` lacks the two counters.
    """
    found = re.findall(r"^(?:non)?voluntary_ctxt_switches:\t([0-9]{1,20})$", text, re.MULTILINE)
    if len(found) != 2:
        raise Unreadable("/proc/PID/status has no complete counters of context switches")
    return sum(map(int, found))


def parse_allowed_cpus(text: str) -> Tuple[int, ...]:
    """The CPUs on which ``/proc/PID/status`` says that the process may run.

    Raises:
        Unreadable: it does not say.
    """
    found = re.search(r"^Cpus_allowed_list:\t([0-9,-]+\n)", text, re.MULTILINE)
    if not found:
        raise Unreadable("/proc/PID/status has no list of allowed CPUs")
    return parse_cpulist(found[1])


def job_of_cgroup(text: str) -> Optional[str]:
    """The job or pod a process belongs to by ``/proc/PID/cgroup``: ``slurm 123``, ``pod <uid>``, or None."""
    slurm = _SLURM_JOB.search(text)
    if slurm:
        return f"slurm {slurm.group(1)}"
    pod = _POD.search(text)
    return f"pod {pod.group(1)}" if pod else None
