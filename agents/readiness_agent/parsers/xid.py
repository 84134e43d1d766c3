"""Events of the NVIDIA driver (Xid) in the kernel's log, GPU by GPU: which numbers, how often, and when.

What a number means is not known here, but for 154, whose text says what the driver asks for.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.kernel_log import SAME_EVENT_SECONDS, LogRecord

STATE = 154
NO_ACTION = "None"

LOAD_SECONDS = 30.0
"""The driver announces its loading after it has probed its GPUs: what happened so shortly before belongs to it."""

_ADDRESS = r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})"
XID_LINE = re.compile(rf"NVRM: Xid \((?:PCI:)?{_ADDRESS}(?:\.[0-7])?\): ([0-9]{{1,4}}), (.*)", re.I)
_GPU = re.compile(rf"NVRM: .*?GPU (?:at )?(?:PCI:)?{_ADDRESS}", re.I)
_ACTION = re.compile(r"recovery action changed from .* to 0x[0-9a-f]+ \(([^)]+)\)", re.I)
_CAUSED_BY = re.compile(r"caused by previous Xid:? ([0-9]{1,4})", re.I)
_NONFATAL = re.compile(r"\bnon-?fatal\b", re.I)


class XidEvent(NamedTuple):
    """One event, however many lines tell of it: lines of one number within a few seconds are one."""

    address: str
    """PCI address without function, in lower case: ``0000:9b:00``."""
    number: int
    nonfatal: bool
    """Whether the driver itself calls it that."""
    after_boot: Optional[float]
    unix: Optional[float]


class GpuEvents(NamedTuple):
    """What counts of one GPU since its last reset."""

    address: str
    events: Tuple[XidEvent, ...]
    lines: Dict[int, int]
    """How many lines name each number."""
    recovery_action: str
    """What the driver asked for last; ``None`` is the driver's own word for nothing."""
    off_the_bus: bool

    @property
    def counts(self) -> Dict[int, int]:
        """How often each number happened, in the order of the log."""
        return dict(Counter(one.number for one in self.events if not one.nonfatal))

    @property
    def nonfatal_counts(self) -> Dict[int, int]:
        """The same of events that the driver itself calls nonfatal."""
        return dict(Counter(one.number for one in self.events if one.nonfatal))

    @property
    def last_after_boot(self) -> Optional[float]:
        """When the last event happened; None where the log has no such times."""
        return max((one.after_boot for one in self.events if one.after_boot is not None), default=None)


class _Collected:
    """Events of one GPU while the log is read."""

    def __init__(self) -> None:
        self.events: List[XidEvent] = []
        self.latest: Dict[Tuple[int, bool], LogRecord] = {}
        self.lines: Dict[int, int] = {}
        self.action = NO_ACTION
        self.off_the_bus: Optional[LogRecord] = None

    def add(self, event: XidEvent, record: LogRecord) -> None:
        self.lines[event.number] = self.lines.get(event.number, 0) + 1
        kind = (event.number, event.nonfatal)
        before = self.latest.get(kind)
        self.latest[kind] = record
        if before is None or not _are_near(before, record):
            self.events.append(event)

    def forget(self, until: Optional[float]) -> None:
        """The GPU was reset: drop what is older than *until* (seconds after boot), or everything."""
        kept = [one for one in self.events if until is not None and (one.after_boot or 0.0) >= until]
        if self.off_the_bus and (until is None or (self.off_the_bus.after_boot or 0.0) < until):
            self.off_the_bus = None
        numbers = {one.number for one in kept}
        self.events = kept
        self.latest = {kind: one for kind, one in self.latest.items() if kind[0] in numbers}
        self.lines = {number: count for number, count in self.lines.items() if number in numbers}
        self.action = self.action if kept else NO_ACTION


def gpu_events(records: Tuple[LogRecord, ...]) -> Dict[str, GpuEvents]:
    """Events by the PCI address of their GPU. Never raises."""
    found: Dict[str, _Collected] = {}
    mentioned = ""
    for record in records:
        message = record.message
        if "NVRM" not in message:
            continue
        if "loading NVIDIA UNIX" in message:
            _driver_was_loaded(found, record)
            continue
        xid, gpu = XID_LINE.search(message), _GPU.search(message)
        mentioned = xid[1].lower() if xid else gpu[1].lower() if gpu else mentioned
        if xid:
            _add_xid(found.setdefault(mentioned, _Collected()), mentioned, xid[2], xid[3], record)
        if "fallen off the bus" in message and mentioned:
            found.setdefault(mentioned, _Collected()).off_the_bus = record
    return {address: _events_of(address, one) for address, one in found.items() if one.lines or one.off_the_bus}


def _add_xid(collected: _Collected, address: str, digits: str, rest: str, record: LogRecord) -> None:
    action, cause = _ACTION.search(rest), _CAUSED_BY.search(rest)
    if int(digits) == STATE and action:
        if action[1].strip() == NO_ACTION:
            collected.forget(None)
            collected.lines[STATE] = 1
            return
        collected.action = action[1].strip()
    number = int(cause[1]) if cause else int(digits)
    collected.add(XidEvent(address, number, bool(_NONFATAL.search(rest)), record.after_boot, record.unix), record)


def _driver_was_loaded(found: Dict[str, _Collected], record: LogRecord) -> None:
    """Events of an earlier load no longer count; without a time nothing tells which those are, and all stay."""
    if record.after_boot is not None:
        for collected in found.values():
            collected.forget(record.after_boot - LOAD_SECONDS)


def _events_of(address: str, one: _Collected) -> GpuEvents:
    return GpuEvents(address, tuple(one.events), one.lines, one.action, one.off_the_bus is not None)


def _are_near(before: LogRecord, after: LogRecord) -> bool:
    """Whether two lines tell of one event; lines without times cannot be told apart."""
    for first, second in ((before.after_boot, after.after_boot), (before.unix, after.unix)):
        if first is not None and second is not None:
            return abs(second - first) <= SAME_EVENT_SECONDS
    return before.after_boot is None and before.unix is None
