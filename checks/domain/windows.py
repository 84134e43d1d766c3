"""A cluster's daily windows in its own time zone, across midnight and both changes of the clocks.

A window is said in wall-clock times. It opens at the first moment at which the wall clock has reached *opens* and ends
at the first at which it has reached *closes*, on that day, or on the next where *closes* is not later. So it is there
at most once for each day of the calendar: an hour that comes twice opens it once, an hour that is skipped opens or ends
it with the jump, and a window that lies wholly in skipped time is left out that day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from checks.domain.answers import NO_MAINTENANCE, Maintenance

_DAY: Final = timedelta(days=1)
_TICK: Final = timedelta(microseconds=1)


class WindowKind(StrEnum):
    """What a window is for: work on the nodes, or measuring while the shared systems are quiet."""

    MAINTENANCE = "maintenance"
    OFF_PEAK = "off_peak"


@dataclass(frozen=True, slots=True)
class DailyWindow:
    """One window of each day, by the cluster's wall clock; one that *closes* at or before *opens* ends the next day."""

    kind: WindowKind
    opens: time
    closes: time


def known_zone(name: str) -> tzinfo | None:
    """The time zone called *name*; None where the time zone database has none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def first_moment(day: date, wall: time, zone: tzinfo) -> datetime:
    """The first moment (UTC) at which the wall clock of *zone* has reached *wall* on *day*."""
    said = datetime.combine(day, wall)
    late = said.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if _wall(late, zone) == said:
        return late
    early = said.replace(tzinfo=zone, fold=1).astimezone(UTC)
    while late - early > _TICK:  # skipped: the jump lies between the readings by the old and by the new offset
        middle = early + (late - early) / 2
        early, late = (middle, late) if _wall(middle, zone) < said else (early, middle)
    return late.replace(microsecond=0) if late.microsecond < 2 else late


def open_until(windows: Iterable[DailyWindow], zone: tzinfo, now: datetime) -> datetime | None:
    """When the window that is open at *now* ends (UTC, excluded); None while none is.

    Windows that follow without a gap are one, to at most a day ahead.
    """
    spans = sorted(_spans(windows, zone, now))
    end = now
    for opens, closes in spans:
        if opens <= end < closes:
            end = closes
    return end if end > now else None


def next_opening(windows: Iterable[DailyWindow], zone: tzinfo, now: datetime) -> datetime | None:
    """The next moment after *now* at which one of *windows* opens; None where there is none within two days."""
    return min((opens for opens, _ in _spans(windows, zone, now) if opens > now), default=None)


def maintenance_at(windows: Iterable[DailyWindow], zone: tzinfo, now: datetime) -> Maintenance:
    """Whether a maintenance window is open at *now*, and until when."""
    until = open_until(_of(WindowKind.MAINTENANCE, windows), zone, now)
    return Maintenance(True, until) if until is not None else NO_MAINTENANCE


def last_moment_of(windows: Iterable[DailyWindow], zone: tzinfo, now: datetime) -> datetime | None:
    """The last moment before `maintenance_at` says something else; None where it never does."""
    mine = _of(WindowKind.MAINTENANCE, windows)
    change = open_until(mine, zone, now) or next_opening(mine, zone, now)
    return None if change is None else change - _TICK


def _of(kind: WindowKind, windows: Iterable[DailyWindow]) -> tuple[DailyWindow, ...]:
    return tuple(one for one in windows if one.kind is kind)


def _spans(windows: Iterable[DailyWindow], zone: tzinfo, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Beginning and end of each window on the days around *now*; a wall clock may go back over midnight."""
    today = now.astimezone(zone).date()
    for window in windows:
        overnight = window.closes <= window.opens
        for day in (today + number * _DAY for number in (-1, 0, 1, 2)):
            opens = first_moment(day, window.opens, zone)
            closes = first_moment(day + _DAY if overnight else day, window.closes, zone)
            if opens < closes:
                yield opens, closes


def _wall(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)
