"""Whether something has happened before: by what broke, how, and in which part; never by host name.

One incident stands for one trouble. While it is open, the same trouble joins it; once it was closed, the same trouble
within 90 days opens it again, with its corrective actions, because they did not hold. Later it is a new one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from checks.domain.incidents.kinds import Component, Standing

#: A trouble that comes back within this time after its end was not cured.
RECURS_WITHIN: Final = timedelta(days=90)


class Meeting(StrEnum):
    """What the same trouble is to an incident that is known."""

    JOINS = "joins"
    REOPENS = "reopens"
    IS_NEW = "is_new"


def fingerprint_of(component: Component, error_class: str, serial: str = "") -> str:
    """What tells one trouble from another; empty where nobody said of which class it is: then nothing is alike.

    *serial* is that of the part, else of the machine: a machine that comes back under another name is the same one.
    """
    named = "-".join(error_class.lower().split())
    return "/".join((component.value, named, serial)) if named else ""


def meeting_of(standing: Standing, ended_at: datetime | None, *, at: datetime) -> Meeting:
    """What a trouble at *at* is to an incident with the same fingerprint that ended at *ended_at* (None: it did not).

    Who was late to tell it (*at* before the end) is told of the same occurrence.
    """
    if standing is Standing.MERGED:
        return Meeting.IS_NEW
    if ended_at is None or at <= ended_at:
        return Meeting.JOINS
    return Meeting.REOPENS if at - ended_at <= RECURS_WITHIN else Meeting.IS_NEW
