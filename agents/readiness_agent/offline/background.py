"""Begins an offline measurement that outlives the tick which found it due, and leaves ticks free to go on."""

from __future__ import annotations

import os
from typing import NoReturn, Sequence

from readiness_agent.agent import Agent
from readiness_agent.errors import AgentError, log
from readiness_agent.node import now
from readiness_agent.offline.probes import offline_items, probes_of

AGAIN_AFTER = 1800.0
"""Seconds after a try, whatever became of it: a refusal or a broken tool is no reason to try each minute."""


def begin(due: Sequence[str], agent: Agent) -> None:
    """Start measuring those of the *due* items that this agent can, in a process of its own; returns at once."""
    items = [item for item in due if item in offline_items()]
    age = agent.state.age("offline", now())
    if not items or (age is not None and age < AGAIN_AFTER):
        return
    agent.state.mark("offline", now())
    agent.state.save()
    pid = os.fork()
    if pid == 0:
        _detach(items, agent)
    os.waitpid(pid, 0)


def _detach(items: Sequence[str], agent: Agent) -> NoReturn:
    """Become nobody's child, with nobody's terminal; what goes wrong is logged."""
    os.setsid()
    if os.fork():
        os._exit(0)
    code = 70
    try:
        _point_at_null()
        _leave_the_housekeeping_cpu()
        code = _measure(items, agent)
    finally:
        os._exit(code)


def _point_at_null() -> None:
    """Let go of the terminal or pipe of whoever started the tick; errors still go where the tick's did."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)


def _leave_the_housekeeping_cpu() -> None:
    """A tick gives way to jobs on one CPU and at the lowest priority; what is measured now has the node to itself."""
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    except OSError:
        pass  # an agent without rights stays where it is


def _measure(items: Sequence[str], agent: Agent) -> int:
    from readiness_agent.offline.taking import measure_and_push

    try:
        measure_and_push(agent, probes_of(items), None)
    except AgentError as error:
        log(str(error))
        return error.exit_code
    return 0
