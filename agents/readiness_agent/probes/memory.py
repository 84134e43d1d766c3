"""Memory of the node, and processes killed for want of it in the last 24 hours."""

from __future__ import annotations

from typing import Optional, Tuple

from readiness_agent.facts import ERROR, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.parsers.kernel_log import GLOBAL, LogRecord, OomKill, oom_kills, parse_kernel_log
from readiness_agent.parsers.memory import parse_memory_total, parse_oom_kill_count
from readiness_agent.source import Probe, ProbeContext, Source

ITEM = "mem-oom"
DAY = 86_400.0
KERNEL_LOGS = (
    ("dmesg",),
    ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic"),
)
"""The ring buffer, then the journal, which reaches further back; both with seconds after boot."""


def measure(source: Source, _: ProbeContext) -> ProbeResult:
    """The kernel's counter at zero proves that nothing was killed; otherwise its log tells when and why."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM, subject=""):
        findings.fact(ITEM, "memory_total", parse_memory_total(source.read("/proc/meminfo")), "MiB")
    with findings.attempt(ITEM, subject=""):
        findings.fact(ITEM, "global_oom_kills_24h", _global_kills(findings, source), "count")
    return findings.result()


def _global_kills(findings: Findings, source: Source) -> int:
    if parse_oom_kill_count(source.read("/proc/vmstat")) == 0:
        return 0
    since = source.now_boottime() - DAY
    found = 0
    for argv in KERNEL_LOGS:
        records = _log(source, argv)
        kills = [one for one in oom_kills(records) if one.kind == GLOBAL and _is_recent(one, since)]
        found = max(found, len(kills))
        if kills or _reaches_back(records, since):
            findings.evidence("\n".join(one.message for one in records if "out of memory" in one.message.lower()), ITEM)
            return found
    raise CouldNotMeasure(
        ERROR, "processes were killed for want of memory, and no kernel log reaches back 24 h to say when"
    )


def _log(source: Source, argv: Tuple[str, ...]) -> Tuple[LogRecord, ...]:
    """Empty when the log cannot be had: then the next one is asked."""
    try:
        result = source.run(argv)
    except CouldNotMeasure:
        return ()
    return parse_kernel_log(result.stdout) if result.exit_code == 0 else ()


def _is_recent(kill: OomKill, since: float) -> bool:
    """A kill without a time counts: it may be recent."""
    return kill.after_boot is None or kill.after_boot >= since


def _reaches_back(records: Tuple[LogRecord, ...], since: float) -> bool:
    """Whether the log begins before *since*, or with the boot itself."""
    first: Optional[float] = next((one.after_boot for one in records if one.after_boot is not None), None)
    return first is not None and (first <= since or first < 1.0)


MEMORY = Probe("memory", (ITEM,), "tick", measure)
