"""Runs probes: each in a child process of its own, with its own session, deadline and result file.

A child that reads a dead mount or calls into a hung driver cannot hang the agent. What ignores KILL is abandoned:
its items are *hung*, its pid and start time are remembered, and its probe is not started again while it lives.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import time
from typing import Callable, Dict, List, NamedTuple, Protocol, Sequence, Tuple

from readiness_agent.facts import (
    ERROR,
    EVERY_SUBJECT,
    HUNG,
    CouldNotMeasure,
    Evidence,
    Fact,
    ProbeResult,
    Problem,
)
from readiness_agent.processes import Stuck, become_subreaper, c_library, children_of, end_all, families, has_children
from readiness_agent.source import Json, Probe, ProbeContext, Source

CEILING = 17.0
"""Seconds for all probes of a tick together; with ending what hangs, the tick stays under 20."""

PARALLEL = 4
"""Probes at once: enough that one that hangs does not delay the others, too few to disturb a job."""

MAX_RESULT_BYTES = 32 * 1024 * 1024

POLL_SHORTEST, POLL_LONGEST = 0.003, 0.03
"""Seconds between looks at running probes: soon for the many that end at once, rarely for one that hangs."""


class Sensor(Source, Protocol):
    """A source that also tells what it left behind and what it recorded."""

    @property
    def stuck(self) -> List[Tuple[int, int]]:
        """Pid and start time of commands that ignored KILL."""
        ...

    @property
    def records(self) -> List[Dict[str, Json]]:
        """Every answer given, of a source that keeps them."""
        ...


class Outcome(NamedTuple):
    """What became of one probe."""

    probe: Probe
    result: ProbeResult
    seconds: float
    stuck: Tuple[Stuck, ...]
    records: Tuple[Dict[str, Json], ...]


class _Running(NamedTuple):
    probe: Probe
    pid: int
    result_file: int
    started: float
    end: float


def run_probes(
    probes: Sequence[Probe], make_sensor: Callable[[], Sensor], context: ProbeContext, ceiling: float = CEILING
) -> List[Outcome]:
    """Run *probes*, at most ``PARALLEL`` at once, and return when all have ended or were given up.

    Takes at most *ceiling* seconds plus the 1.5 s that TERM and KILL are given; a probe for which no time is left is
    *hung*, too: it was not measured, and that is said.
    """
    c_library()  # here, once: each probe's process needs it, and would pay for its import anew
    gc.freeze()  # what is loaded by now is no garbage: nobody shall look through it, not even Python at its end
    end = time.monotonic() + ceiling
    waiting = list(probes)
    running: List[_Running] = []
    outcomes: List[Outcome] = []
    pause = POLL_SHORTEST
    while waiting or running:
        while waiting and len(running) < PARALLEL:
            _start_next(waiting, running, outcomes, make_sensor, context, end)
        ended = [one for one in running if _has_ended(one)]
        for one in ended:
            running.remove(one)
            outcomes.append(_collect(one))
        late = [one for one in running if time.monotonic() >= one.end]
        if late:
            running = [one for one in running if one not in late]
            outcomes += _give_up(late)
        pause = POLL_SHORTEST if ended else min(pause * 1.2, POLL_LONGEST)
        if running:
            time.sleep(pause)
    return outcomes


def _start_next(
    waiting: List[Probe],
    running: List[_Running],
    outcomes: List[Outcome],
    make_sensor: Callable[[], Sensor],
    context: ProbeContext,
    end: float,
) -> None:
    probe = waiting.pop(0)
    now = time.monotonic()
    if now >= end:
        outcomes.append(_failed(probe, HUNG, "not started: other probes used up the time of this tick"))
        return
    try:
        running.append(_start(probe, make_sensor, context, now, min(now + probe.deadline, end)))
    except OSError as error:
        outcomes.append(_failed(probe, ERROR, f"no process for this probe: {error.strerror}"))


def _start(probe: Probe, make_sensor: Callable[[], Sensor], context: ProbeContext, now: float, end: float) -> _Running:
    result_file = os.memfd_create(probe.name)
    try:
        pid = os.fork()
    except OSError:
        os.close(result_file)
        raise
    if pid == 0:
        _child(probe, make_sensor, context, result_file, end - now)
    return _Running(probe, pid, result_file, now, end)


def _child(
    probe: Probe, make_sensor: Callable[[], Sensor], context: ProbeContext, result_file: int, seconds: float
) -> None:
    """The probe's process. It never returns into the agent's code, whatever happens."""
    code = 70
    try:
        os.setsid()
        signal.alarm(int(seconds) + 4)  # ends it even when the agent itself was killed meanwhile
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_RESULT_BYTES, MAX_RESULT_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        become_subreaper()
        sensor = make_sensor()
        answer = _measure(probe, sensor, context)._asdict()
        left = end_all(children_of(os.getpid())) if has_children() else []
        answer.update(stuck=sorted({*sensor.stuck, *left}), records=sensor.records)
        os.write(result_file, json.dumps(answer).encode("utf-8", "replace"))
        code = 0
    finally:
        os._exit(code)


def _measure(probe: Probe, sensor: Sensor, context: ProbeContext) -> ProbeResult:
    try:
        return probe.run(sensor, context)
    except CouldNotMeasure as error:
        return _problems(probe, error.kind, error.detail)
    except Exception as error:  # a defect in one probe must cost its own items only, and must show
        return _problems(probe, ERROR, f"the probe failed: {type(error).__name__}: {error}")


def _has_ended(one: _Running) -> bool:
    return os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _collect(one: _Running) -> Outcome:
    """Read the result of a probe that has ended."""
    status = os.waitstatus_to_exitcode(os.waitpid(one.pid, 0)[1])
    raw = os.pread(one.result_file, MAX_RESULT_BYTES, 0)
    os.close(one.result_file)
    seconds = time.monotonic() - one.started
    if status != 0 or not raw:
        detail = f"the probe's process ended with {status} and no result"
        return _failed(one.probe, ERROR, detail)._replace(seconds=seconds)
    answer = json.loads(raw)
    result = ProbeResult(
        tuple(Fact(*fact) for fact in answer["facts"]),
        tuple(Problem(*problem) for problem in answer["problems"]),
        tuple(Evidence(text, tuple(items)) for text, items in answer["evidence"]),
    )
    stuck = tuple(Stuck(*one_stuck) for one_stuck in answer["stuck"])
    return Outcome(one.probe, result, seconds, stuck, tuple(answer["records"]))


def _give_up(late: List[_Running]) -> List[Outcome]:
    """End the processes of all probes that are out of time, together: the grace is waited for once."""
    relatives = [(one, families(one.pid)) for one in late]
    stuck = end_all(lambda: [pid for _, find in relatives for pid in find()])
    return [_abandoned(one, stuck, find()) for one, find in relatives]


def _abandoned(one: _Running, stuck: List[Stuck], family: List[int]) -> Outcome:
    os.waitpid(one.pid, os.WNOHANG)
    os.close(one.result_file)
    own = tuple(each for each in stuck if each.pid in family)
    seconds = time.monotonic() - one.started
    outcome = _failed(one.probe, HUNG, f"{one.probe.name}: no result after {one.end - one.started:.0f} s")
    return outcome._replace(seconds=seconds, stuck=own)


def _failed(probe: Probe, kind: str, detail: str) -> Outcome:
    return Outcome(probe, _problems(probe, kind, detail), 0.0, (), ())


def _problems(probe: Probe, kind: str, detail: str) -> ProbeResult:
    """The same problem for every item of a probe."""
    problems = tuple(Problem(item, EVERY_SUBJECT, kind, detail) for item in probe.items)
    return ProbeResult((), problems, ())
