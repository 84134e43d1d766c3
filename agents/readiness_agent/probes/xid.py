"""Driver events of each GPU since the driver was loaded, from the kernel's log."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.listing import counted
from readiness_agent.parsers.kernel_log import parse_kernel_log
from readiness_agent.parsers.xid import NO_ACTION, XID_LINE, GpuEvents, gpu_events
from readiness_agent.probes.memory_file import load_memory, save_memory
from readiness_agent.probes.subjects import bus_has_no_gpu, gpus_on_bus, names_of_gpus
from readiness_agent.source import Probe, ProbeContext, Source

ITEM = "gpu-xid"
DMESG = ("dmesg",)
JOURNAL = ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic")

REMEMBERED, KEPT = "driver log", "driver log kept"
MEMORY_FILE = "driver-log.json"
MOST_LINES = 500
"""Lines of the driver that are remembered: a GPU that keeps failing must not fill the disk. The latest of each kind is
kept beyond that, so that no number is forgotten behind many of another."""

_DRIVER = "NVRM"
_LOADING = "loading NVIDIA UNIX"
_TELLING = ("Xid (", "fallen off the bus")
_FIRST_SECOND = 1.0
_TIME = re.compile(r"\A.*?NVRM")
_MARGIN = 50
"""Lines at either end of a log among which one with a time is looked for."""


class Look(NamedTuple):
    """What is known of the driver's lines in this boot."""

    complete: bool
    """Whether no line since the driver was loaded can have been missed."""
    until: float
    """Seconds after boot of the last line of any kind."""
    lines: Tuple[str, ...]


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """Zero events need a log that goes back to the loading of the driver; an event counts wherever it is found."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        if bus_has_no_gpu(source):
            raise CouldNotMeasure(MISSING, "the PCI bus shows no NVIDIA GPU")
        look = _look(source, context)
        events = gpu_events(parse_kernel_log("\n".join(look.lines)))
        telling = [line for line in look.lines if any(word in line for word in _TELLING)]
        if telling:
            findings.evidence("\n".join(telling), ITEM)
        _report(findings, gpus_on_bus(source), events, look.complete)
        if not look.complete:
            detail = "no kernel log reaches back to the loading of the driver: earlier events may be missing"
            raise CouldNotMeasure(ERROR, detail)
    return findings.result()


def _look(source: Source, context: ProbeContext) -> Look:
    """The ring buffer, joined with what an earlier tick saw; where that leaves a gap, the journal."""
    before = _remembered(source, context)
    look = combine(before, _text(source, DMESG))
    if not look.complete:
        journal = _text_if_any(source, JOURNAL)
        further = combine(before, journal) if journal else look
        look = further if further.complete or len(further.lines) > len(look.lines) else look
    _keep(source, context, look)
    return look


def combine(before: Optional[Look], text: str) -> Look:
    """The driver's lines in *text* together with those of an earlier look."""
    lines = text.splitlines()
    first, last = _first_time(lines[:_MARGIN], float("inf")), _first_time(lines[:-_MARGIN:-1], 0.0)
    goes_on = before is not None and before.complete and first <= before.until
    complete = first < _FIRST_SECOND or _LOADING in text or goes_on
    known = before.lines if before else ()
    seen = set(known)
    new = [line.strip() for line in lines if _DRIVER in line and line.strip() not in seen]
    return Look(complete, max(last, before.until if before else 0.0), _the_newest([*known, *new]))


def _the_newest(lines: List[str]) -> Tuple[str, ...]:
    """The last lines, and before them the latest of each kind that these do not show."""
    latest = {_kind(line): place for place, line in enumerate(lines)}
    first = len(lines) - MOST_LINES
    return tuple(line for place, line in enumerate(lines) if place >= first or latest[_kind(line)] == place)


def _kind(line: str) -> str:
    """GPU and number of an event; of any other line its text without the time."""
    xid = XID_LINE.search(line)
    return f"{xid[1]} {xid[2]}" if xid else _TIME.sub("", line)


def _first_time(lines: List[str], otherwise: float) -> float:
    """Seconds after boot of the first of *lines* that states them: a whole log need not be read for that."""
    times = (record.after_boot for line in lines for record in parse_kernel_log(line))
    return next((time for time in times if time is not None), otherwise)


def _text(source: Source, argv: Sequence[str]) -> str:
    result = source.run(argv)
    if result.exit_code != 0:
        raise CouldNotMeasure(ERROR, f"{argv[0]} ended with {result.exit_code}: {result.stderr.strip()[:200]}")
    return result.stdout


def _text_if_any(source: Source, argv: Sequence[str]) -> str:
    try:
        return _text(source, argv)
    except CouldNotMeasure:
        return ""


def _remembered(source: Source, context: ProbeContext) -> Optional[Look]:
    try:
        answer = source.call(REMEMBERED, lambda: load_memory(context.memory_dir, MEMORY_FILE, _boot_id(source)))
    except CouldNotMeasure:
        return None
    return _as_look(answer)


def _keep(source: Source, context: ProbeContext, look: Look) -> None:
    try:
        source.call(
            KEPT,
            lambda: save_memory(
                context.memory_dir, MEMORY_FILE, _boot_id(source), [look.complete, look.until, [*look.lines]]
            ),
        )
    except CouldNotMeasure:
        pass  # then the next look has to reach back by itself, or says that it cannot


def _boot_id(source: Source) -> str:
    return source.read("/proc/sys/kernel/random/boot_id").strip()


def _as_look(answer: Any) -> Optional[Look]:
    if not isinstance(answer, list) or len(answer) != len(Look._fields):
        return None
    complete, until, lines = answer
    if not isinstance(until, (int, float)) or not isinstance(lines, list):
        return None
    return Look(complete is True, float(until), tuple(str(line) for line in lines))


def _report(findings: Findings, on_bus: List[str], events: Dict[str, GpuEvents], complete: bool) -> None:
    """One row a GPU; where nothing tells which GPUs there are, one for the node that holds for each of them."""
    if not on_bus:
        if complete or events:
            _facts(findings, "", list(events.values()))
        return
    names = names_of_gpus([*on_bus, *(f"{address}.0" for address in events)])
    for address, name in names.items():
        own = events.get(address.rpartition(".")[0])
        if complete or own:
            _facts(findings, name, [own] if own else [])


def _facts(findings: Findings, name: str, events: List[GpuEvents]) -> None:
    actions = [one.recovery_action for one in events if one.recovery_action != NO_ACTION]
    findings.fact(ITEM, "xids", counted(_added(one.counts for one in events)), "text", name)
    findings.fact(ITEM, "nonfatal_xids", counted(_added(one.nonfatal_counts for one in events)), "text", name)
    findings.fact(ITEM, "off_bus", any(one.off_the_bus for one in events), "bool", name)
    findings.fact(ITEM, "recovery_action", ", ".join(actions) or NO_ACTION, "text", name)
    last = [one.last_after_boot for one in events if one.last_after_boot is not None]
    if last:
        findings.fact(ITEM, "last_xid_at", max(last), "seconds", name)


def _added(counts: Iterable[Dict[int, int]]) -> Dict[int, int]:
    total: Dict[int, int] = Counter()
    for one in counts:
        total.update(one)
    return total


XID = Probe("xid", (ITEM,), "tick", measure)
