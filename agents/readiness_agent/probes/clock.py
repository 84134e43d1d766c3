"""Whether the clock follows a reference, and how far it is from it."""

from __future__ import annotations

from typing import Optional, Tuple

from readiness_agent.facts import ERROR, HUNG, MISSING, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.parsers.clock import ClockState, clock_of_adjtimex, parse_chrony_tracking, parse_timesync_status
from readiness_agent.probes.adjtimex import adjtimex
from readiness_agent.source import Probe, ProbeContext, Source

ITEM = "clock-sync"
DEADLINE = 3.0


def measure(source: Source, _: ProbeContext) -> ProbeResult:
    """The kernel first: it cannot hang, and when it says *not synchronized* nobody else needs to be asked."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        state, name, untold = _state(source)
        findings.fact(ITEM, "synchronized", state.synchronized, "bool")
        findings.fact(ITEM, "source", name, "text")
        if state.offset_ms is not None:
            findings.fact(ITEM, "offset", round(state.offset_ms, 3), "milliseconds")
        elif state.synchronized:
            findings.problem(ITEM, untold.kind, untold.detail, subject="")
    return findings.result()


_NOBODY = CouldNotMeasure(MISSING, "the clock is synchronized, and neither chronyc nor timedatectl tells its offset")


def _state(source: Source) -> Tuple[ClockState, str, CouldNotMeasure]:
    """The state of the clock, who told it, and why nobody tells its offset: a tool that hangs before one that is away.

    Raises:
        CouldNotMeasure: neither the kernel nor chrony answers.
    """
    try:
        kernel: Optional[ClockState] = clock_of_adjtimex(source.call("adjtimex", adjtimex))
    except CouldNotMeasure as error:
        kernel, refusal = None, error
    if kernel is not None and not kernel.synchronized:
        return kernel, "kernel", _NOBODY
    untold = _NOBODY
    try:
        return parse_chrony_tracking(_output(source, "chronyc", "-n", "tracking")), "chrony", untold
    except CouldNotMeasure as error:
        if kernel is None:
            raise (error if error.kind == HUNG else refusal) from None
        untold = error if error.kind == HUNG else untold
    try:
        offset = parse_timesync_status(_output(source, "timedatectl", "timesync-status"))
        return ClockState(True, offset), "timesyncd", untold
    except CouldNotMeasure as error:
        return kernel, "kernel", error if error.kind == HUNG else untold


def _output(source: Source, *argv: str) -> str:
    result = source.run(argv, DEADLINE)
    if result.exit_code != 0:
        raise CouldNotMeasure(ERROR, f"{' '.join(argv)} ended with {result.exit_code}")
    return result.stdout


CLOCK = Probe("clock", (ITEM,), "tick", measure)
