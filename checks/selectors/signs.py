"""A sign of life of one part of the portal, and how it is to be read."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class State(StrEnum):
    """How a sign is to be read."""

    OK = "ok"
    AMBER = "amber"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of life: seconds since the last one (None: never seen, which is red), and what that means."""

    name: str
    age_s: float | None
    state: State


def sign(name: str, at: datetime | None, limits: tuple[int, int], *, now: datetime) -> Sign:
    """The sign called *name*, last given *at*; *limits* are the ages in seconds over which it is amber, and red."""
    if at is None:
        return Sign(name, None, State.RED)
    age = max(0.0, (now - at).total_seconds())
    amber, red = limits
    return Sign(name, age, State.RED if age > red else State.AMBER if age > amber else State.OK)
