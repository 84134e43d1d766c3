"""Facts of a run that only the portal knows: its plan, and what other runs of the site do."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from checks.domain.facts import Fact
from checks.domain.items import Item
from checks.models import OVER, Run, ScopeState

_TAG: Final = "checkpoint-tag"
_FIT: Final = "scheduler-fit"


def facts_of_portal(run: Run, item: Item, told: Sequence[Fact], *, now: datetime) -> list[Fact]:
    """What the portal adds to the facts that audits *told* of *item*."""
    if item.key == _FIT:
        planned = round((run.planned_end - run.planned_start).total_seconds())
        return [Fact(_FIT, "", "planned_time", planned, "seconds", now)]
    return _collisions(run, told, now) if item.key == _TAG else []


def _collisions(run: Run, told: Sequence[Fact], now: datetime) -> list[Fact]:
    """How many other runs of the site that are not over save to the place of these facts; nothing where none is told.

    A place is the real path of the folder with the pattern of the tag, the same text for the same files.
    """
    place = next((fact.value for fact in told if fact.name == "place" and isinstance(fact.value, str)), None)
    if place is None or any(fact.name == "collisions" for fact in told):
        return []
    others = Run.objects.exclude(pk=run.pk).exclude(stage__in=OVER).values_list("slug", flat=True)
    taken = ScopeState.objects.filter(item=_TAG, value__facts__place=place, subject__in=others)
    return [Fact(_TAG, "", "collisions", taken.count(), "count", now)]
