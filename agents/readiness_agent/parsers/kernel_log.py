"""The kernel's log, as dmesg, /dev/kmsg or the journal print it, and the kills for want of memory in it."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

GLOBAL = "global"
"""The whole machine was out of memory."""
MEMCG = "memcg"
"""A memory cgroup, that is a job, was out of its own memory."""
REAPER = "reaper"
"""Memory of a killed process was reaped; says nothing about the cause."""

SAME_EVENT_SECONDS = 5.0
"""Lines about one pid within this time are one kill."""

_AFTER_BOOT = re.compile(r"(?:[a-z]+ *:[a-z]+ *: *)?\[ *([0-9]{1,12}\.[0-9]{1,9})\] ?")
_KMSG = re.compile(r"[0-9]+,[0-9]+,([0-9]{1,20}),[^;]*;")
_WALL_CLOCK = re.compile(
    r"(?:[a-z]+ *:[a-z]+ *: *)?([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})[,.]([0-9]{6})"
    r"([+-][0-9]{2}:[0-9]{2}) ?"
)
_CALENDAR = re.compile(r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4})\] ?")
_JOURNAL = re.compile(
    r"(?:<[0-9]{1,3}>)?(?:([A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,6})?"
    r"|([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[,.]([0-9]{1,6}))?(Z|[+-][0-9]{2}:?[0-9]{2}))"
    r" \S{1,253} kernel: ?"
)
"""What journalctl and syslog write before a line: without a year, or as ISO 8601."""
_SOME_YEAR = "2000"
"""A year with a 29 February, for times that name none: only differences of them mean something."""
_CONSTRAINT = re.compile(r"oom-kill:constraint=(\w+)(?:.*,pid=([0-9]{1,10}))?")
_KILLED = re.compile(r"(Memory cgroup out of memory|Out of memory): Kill(?:ed)? process ([0-9]{1,10})")
_REAPED = re.compile(r"oom_reaper: reaped process ([0-9]{1,10})")


class LogRecord(NamedTuple):
    """One line; at most one of the two times is known."""

    after_boot: Optional[float]
    """Seconds after boot."""
    unix: Optional[float]
    message: str


class OomKill(NamedTuple):
    """One kill, however many lines tell of it."""

    kind: str
    pid: Optional[int]
    after_boot: Optional[float]
    unix: Optional[float]


def parse_kernel_log(text: str) -> Tuple[LogRecord, ...]:
    """All lines; one without a time of its own goes with the line before it. Never raises."""
    records: List[LogRecord] = []
    previous = LogRecord(None, None, "")
    for line in text.splitlines():
        record = _record(line) or previous._replace(message=line.strip())
        records.append(record)
        previous = record
    return tuple(records)


def _record(line: str) -> Optional[LogRecord]:
    after_boot = _AFTER_BOOT.match(line)
    if after_boot:
        return LogRecord(float(after_boot.group(1)), None, line[after_boot.end() :])
    kmsg = _KMSG.match(line)
    if kmsg:
        return LogRecord(int(kmsg.group(1)) / 1e6, None, line[kmsg.end() :])
    calendar_time = _CALENDAR.match(line)
    if calendar_time:
        return LogRecord(None, _without_zone(calendar_time.group(1)), line[calendar_time.end() :])
    journal = _JOURNAL.match(line)
    if journal:
        return _of_journal(journal, line[journal.end() :])
    wall_clock = _WALL_CLOCK.match(line)
    unix = _unix(*wall_clock.groups()) if wall_clock else None
    return LogRecord(None, unix, line[wall_clock.end() :]) if wall_clock and unix is not None else None


def _of_journal(found: re.Match[str], message: str) -> Optional[LogRecord]:
    """Syslog often keeps the kernel's own time behind its own; that is the better one."""
    after_boot = _AFTER_BOOT.match(message)
    if after_boot:
        return LogRecord(float(after_boot.group(1)), None, message[after_boot.end() :])
    if found[1]:
        unix = _without_zone(f"Sat {found[1]} {_SOME_YEAR}")  # the day of the week is read and not used
    else:
        zone = found[4].replace("Z", "+00:00")
        unix = _unix(found[2], (found[3] or "").ljust(6, "0"), zone if ":" in zone else f"{zone[:3]}:{zone[3:]}")
    return None if unix is None else LogRecord(None, unix, message)


def _unix(moment: str, microseconds: str, zone: str) -> Optional[float]:
    from datetime import datetime

    try:
        return datetime.fromisoformat(f"{moment}.{microseconds}{zone}").timestamp()
    except (ValueError, OverflowError):
        return None


def _without_zone(moment: str) -> Optional[float]:
    """The time that ``dmesg -T`` prints, read as UTC: it names no zone, so only differences mean something."""
    import calendar
    import time

    try:
        return float(calendar.timegm(time.strptime(moment, "%a %b %d %H:%M:%S %Y")))
    except (ValueError, OverflowError):
        return None


def oom_kills(records: Tuple[LogRecord, ...]) -> Tuple[OomKill, ...]:
    """Every kill once, in the order of the log. A kill of unknown constraint counts as global."""
    kills: List[OomKill] = []
    for record in records:
        kill = _oom_kill(record)
        if kill is not None and not any(_is_same(kill, other) for other in kills):
            kills.append(kill)
    return tuple(kills)


def _oom_kill(record: LogRecord) -> Optional[OomKill]:
    constraint = _CONSTRAINT.search(record.message)
    if constraint:
        kind = MEMCG if constraint.group(1) == "CONSTRAINT_MEMCG" else GLOBAL
        return OomKill(kind, _pid(constraint.group(2)), record.after_boot, record.unix)
    killed = _KILLED.search(record.message)
    if killed:
        kind = MEMCG if killed.group(1).startswith("Memory cgroup") else GLOBAL
        return OomKill(kind, _pid(killed.group(2)), record.after_boot, record.unix)
    reaped = _REAPED.search(record.message)
    return OomKill(REAPER, _pid(reaped.group(1)), record.after_boot, record.unix) if reaped else None


def _pid(text: Optional[str]) -> Optional[int]:
    return int(text) if text else None


def _is_same(kill: OomKill, other: OomKill) -> bool:
    """Whether both tell of one kill; a reaper's line adds nothing to what it follows."""
    if kill.pid is None or kill.pid != other.pid or (kill.kind != other.kind and kill.kind != REAPER):
        return False
    if kill.after_boot is not None and other.after_boot is not None:
        return abs(kill.after_boot - other.after_boot) <= SAME_EVENT_SECONDS
    return kill.unix is not None and other.unix is not None and abs(kill.unix - other.unix) <= SAME_EVENT_SECONDS
