"""Whether another run writes its checkpoints where this one does: only the portal knows all runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from checks.domain.facts import Fact
from checks.domain.items import Item
from checks.models import OVER, Run, ScopeState

_ITEM: Final = "checkpoint-tag"
_PLACE: Final = "place"


def tag_facts(run: Run, item: Item, facts: Sequence[Fact], *, now: datetime) -> list[Fact]:
    """How many other runs of the site that are not over have the place of these *facts*; nothing where none is told.

    A place is the real path of the folder with the pattern of the tag, the same text for the same files.
    """
    place = next((fact.value for fact in facts if fact.name == _PLACE and isinstance(fact.value, str)), None)
    if item.key != _ITEM or place is None or any(fact.name == "collisions" for fact in facts):
        return []
    others = Run.objects.exclude(pk=run.pk).exclude(stage__in=OVER).values_list("slug", flat=True)
    taken = ScopeState.objects.filter(item=_ITEM, value__facts__place=place, subject__in=others)
    return [Fact(_ITEM, "", "collisions", taken.count(), "count", now)]
