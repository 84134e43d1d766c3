"""The reader's own open signatures, as the board lists them."""

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from checks.selectors.pages_waiting import open_slots, runs_by_id
from portal.accounts.models import User


@dataclass(frozen=True, slots=True)
class Waiting:
    """One line that waits for the reader."""

    run: str
    layer: str
    role: str
    planned_start: datetime
    href: str


def waiting_for(user: User) -> tuple[Waiting, ...]:
    """All of them, the next to start first."""
    slots = open_slots(user)
    runs = runs_by_id(slots) if slots else {}
    found = [
        Waiting(
            run=runs[slot.run_id].slug,
            layer=slot.layer.value,
            role=slot.role,
            planned_start=runs[slot.run_id].planned_start,
            href=reverse("ui:sign", args=[runs[slot.run_id].slug, slot.layer.value]),
        )
        for slot in slots
    ]
    return tuple(sorted(found, key=lambda one: one.planned_start))
