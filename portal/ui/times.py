"""Ages and moments as pages show them. The browser counts ages on with the same rule (``static/js/live.js``)."""

from datetime import UTC, datetime

from django.utils.translation import gettext as _
from django.utils.translation import pgettext


def age_units() -> tuple[str, str, str, str]:
    """Short words for second, minute, hour and day."""
    return (
        pgettext("unit of time", "s"),
        pgettext("unit of time", "min"),
        pgettext("unit of time", "h"),
        pgettext("unit of time", "d"),
    )


def duration(seconds: float) -> str:
    """*seconds* in its two leading units, e.g. ``5 h 02 min``; a time ahead of us counts as 0 s."""
    second, minute, hour, day = age_units()
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} {second}"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 60:
        return f"{minutes} {minute}"
    if hours < 24:
        return f"{hours} {hour} {minutes % 60:02d} {minute}"
    return f"{days} {day} {hours % 24} {hour}" if hours % 24 and days < 7 else f"{days} {day}"


def machine_time(at: datetime) -> str:
    """ISO 8601 in UTC, for the ``datetime`` attribute."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_or_day(at: datetime, *, now: datetime) -> str:
    """``14:09`` within the last day, ``28 Nov`` before it."""
    utc = at.astimezone(UTC)
    return utc.strftime("%H:%M") if (now - at).total_seconds() < 86400 else _day(utc)


def absolute_time(at: datetime, *, now: datetime) -> str:
    """Day and time in UTC; the year only where it is another one."""
    utc = at.astimezone(UTC)
    day = _day(utc) if utc.year == now.year else _("%(day)s %(year)d") % {"day": _day(utc), "year": utc.year}
    return f"{day} {utc:%H:%M}"


def _day(utc: datetime) -> str:
    months = _("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec").split()
    return _("%(day)d %(month)s") % {"day": utc.day, "month": months[utc.month - 1]}
