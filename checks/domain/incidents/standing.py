"""How an incident, and a corrective action of it, may move."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from checks.domain.incidents.kinds import ActionState, Standing

#: Where a person may move an incident. Merging is an act of its own.
MOVES: Final[Mapping[Standing, tuple[Standing, ...]]] = {
    Standing.OPEN: (Standing.STABLE,),
    Standing.STABLE: (Standing.CLOSED, Standing.OPEN),
    Standing.CLOSED: (Standing.OPEN,),
    Standing.MERGED: (),
}
#: Where who works on it may move an action. *Verified* is reached by proof alone, see `checks.services`.
ACTION_MOVES: Final[Mapping[ActionState, tuple[ActionState, ...]]] = {
    ActionState.PROPOSED: (ActionState.ACCEPTED, ActionState.REJECTED),
    ActionState.ACCEPTED: (ActionState.DONE, ActionState.REJECTED),
    ActionState.DONE: (ActionState.ACCEPTED,),
    ActionState.VERIFIED: (),
    ActionState.REJECTED: (),
}
#: States in which an action still waits for somebody.
UNENDED: Final = frozenset({ActionState.PROPOSED, ActionState.ACCEPTED, ActionState.DONE})


class TimesMistake(StrEnum):
    """How the moments of an incident contradict each other."""

    TO_COME = "to_come"
    DETECTED_TOO_EARLY = "detected_too_early"
    ENDED_TOO_EARLY = "ended_too_early"


def times_mistake(
    started: datetime, detected: datetime | None, stable: datetime | None, *, now: datetime
) -> TimesMistake | None:
    """What is wrong with moments that should follow one another: started, detected, stable; none of them to come."""
    if any(moment is not None and moment > now for moment in (started, detected, stable)):
        return TimesMistake.TO_COME
    if detected is not None and detected < started:
        return TimesMistake.DETECTED_TOO_EARLY
    if stable is not None and stable < started:
        return TimesMistake.ENDED_TOO_EARLY
    return None
