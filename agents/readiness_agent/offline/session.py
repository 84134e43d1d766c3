"""Runs offline probes one after the other, each in a process of its own, and yields as soon as anybody needs the node.

The agent looks every ten seconds whether a foreign process or job is there. Then, and when it is told to end or its
claim is over, everything that a probe started is ended: TERM, three seconds, KILL; and its files are deleted. A probe
whose agent was killed ends itself in the same way.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import time
from types import FrameType
from typing import Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

from readiness_agent.config import Config
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
from readiness_agent.offline.bench import (
    WORK,
    Bench,
    OfflineProbe,
    configured_directories,
    remove_work_directory,
)
from readiness_agent.offline.turns import Turns
from readiness_agent.offline.watch import Family
from readiness_agent.processes import Stuck, become_subreaper, c_library, children_of, end_all, families
from readiness_agent.runner import Outcome
from readiness_agent.source import LiveSource, Probe

LOOK_EVERY = 10.0
PAUSE = 0.1
TERM_GRACE = 3.0
"""Seconds between TERM and KILL; with KILL and what follows, the node is free within five."""

PR_SET_PDEATHSIG = 1

LEAST_SECONDS = 5.0
"""A probe that has less is not begun."""


class Ended(Exception):
    """This process was told to end."""


class Watch(NamedTuple):
    """What ends a session: *foreign* says who else uses the node, *left* how many seconds it may still last."""

    foreign: Callable[[Family], str]
    left: Callable[[], float]
    every: float = LOOK_EVERY


def run_session(probes: Sequence[OfflineProbe], make_bench: Callable[[float], Bench], watch: Watch) -> List[Outcome]:
    """Measure with *probes* in turn. Whatever ends the session, every item has facts or a reason why it has none."""
    session = _Session(make_bench, watch)
    before = {number: signal.signal(number, session.told_to_end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        return [session.measure(probe) for probe in probes]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Session:
    def __init__(self, make_bench: Callable[[float], Bench], watch: Watch) -> None:
        self._make_bench = make_bench
        self._watch = watch
        self._over = ""
        self._looked = time.monotonic()

    def told_to_end(self, number: int, frame: Optional[FrameType]) -> None:
        """A signal handler: what runs is ended at the next look, a tenth of a second away."""
        self._over = f"ended by {signal.Signals(number).name}"

    def measure(self, probe: OfflineProbe) -> Outcome:
        """One probe, or why it was not begun."""
        left = self._watch.left() - probe.overhead / 2
        if self._over or left < LEAST_SECONDS:
            return _failed(probe, ERROR, self._over or "no time left in this window", ())
        bench = self._make_bench(min(probe.seconds, left))
        result_file = os.memfd_create(probe.name)
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _child(probe, bench, result_file)
        try:
            return self._attend(probe, bench, pid, result_file, started)
        finally:
            os.close(result_file)
            _clean_up(bench)

    def _attend(self, probe: OfflineProbe, bench: Bench, pid: int, result_file: int, started: float) -> Outcome:
        """Wait for the probe's process, and end it as soon as there is a reason."""
        family = families(pid)
        limit = started + bench.seconds + probe.overhead
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            kind, reason = self._reason_to_end(family, limit, bench)
            if reason:
                stuck = tuple(end_all(family, TERM_GRACE))
                os.waitpid(pid, os.WNOHANG)
                return _failed(probe, kind, f"{probe.name}: {reason}", stuck)
            time.sleep(PAUSE)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return _collect(probe, result_file, code, time.monotonic() - started)

    def _reason_to_end(self, family: Family, limit: float, bench: Bench) -> Tuple[str, str]:
        now = time.monotonic()
        if self._over:
            return ERROR, self._over
        if self._watch.left() <= 0:
            return ERROR, "the claim on this node is over"
        if now >= limit:
            return HUNG, f"no result after {bench.seconds:.0f} s and the time to set up and clean up"
        if now - self._looked >= self._watch.every:
            self._looked = now
            stranger = self._watch.foreign(family)
            if stranger:
                self._over = f"yielded: {stranger}"
        return ERROR, self._over


def _child(probe: OfflineProbe, bench: Bench, result_file: int) -> NoReturn:
    """The probe's process: it ends with its agent, and leaves no process and no file behind."""
    code = 70
    try:
        os.setsid()
        _end_with_parent()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        become_subreaper()
        signal.signal(signal.SIGTERM, _raise_ended)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        result = _run(probe, bench)
        os.write(result_file, json.dumps(result._asdict()).encode("utf-8", "replace"))
        code = 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_all(children_of(os.getpid()))
        _clean_up(bench)
        os._exit(code)


def _run(probe: OfflineProbe, bench: Bench) -> ProbeResult:
    try:
        return probe.run(bench)
    except CouldNotMeasure as error:
        return _problems(probe, error.kind, error.detail)
    except Ended:
        return _problems(probe, ERROR, f"{probe.name}: ended")
    except Exception as error:  # a defect of the probe costs its own items
        return _problems(probe, ERROR, f"{probe.name}: {type(error).__name__}: {error}")


def _end_with_parent() -> None:
    """Have TERM sent to this process when the agent dies, even of KILL."""
    library = c_library()
    if library is not None:
        library.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM), 0, 0, 0)


def _raise_ended(number: int, frame: Optional[FrameType]) -> NoReturn:
    raise Ended


def _clean_up(bench: Bench) -> None:
    for directory in configured_directories(bench.config):
        try:
            remove_work_directory(os.path.join(directory, WORK))
        except CouldNotMeasure:
            pass  # nothing of ours; the probe has said so


def _collect(probe: OfflineProbe, result_file: int, code: int, seconds: float) -> Outcome:
    size = os.fstat(result_file).st_size
    if code != 0 or not size:
        return _failed(probe, ERROR, f"{probe.name}: its process ended with {code} and no result", ())
    told: Dict[str, List[List[object]]] = json.loads(os.pread(result_file, size, 0))
    result = ProbeResult(
        tuple(Fact(*one) for one in told["facts"]),  # type: ignore[arg-type]
        tuple(Problem(*one) for one in told["problems"]),  # type: ignore[arg-type]
        tuple(Evidence(str(text), tuple(items)) for text, items in told["evidence"]),  # type: ignore[arg-type]
    )
    return Outcome(_as_probe(probe), result, seconds, (), ())


def _failed(probe: OfflineProbe, kind: str, detail: str, stuck: Tuple[Stuck, ...]) -> Outcome:
    return Outcome(_as_probe(probe), _problems(probe, kind, detail), 0.0, stuck, ())


def _problems(probe: OfflineProbe, kind: str, detail: str) -> ProbeResult:
    return ProbeResult((), tuple(Problem(item, EVERY_SUBJECT, kind, detail) for item in probe.items), ())


def _as_probe(probe: OfflineProbe) -> Probe:
    """The probe as a report names it."""
    return Probe(probe.name, probe.items, "offline", _never)


def _never(source: object, context: object) -> ProbeResult:
    raise AssertionError("an offline probe runs on a bench")


def live_bench(config: Config, memory_dir: str, turns: Optional[Turns] = None) -> Callable[[float], Bench]:
    """Benches on this machine."""
    return lambda seconds: Bench(LiveSource(), config, seconds, memory_dir, turns)
