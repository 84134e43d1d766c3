"""Old trials of links are taken away: what they found stands in the rows that were judged from them."""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from checks.models import LinkSide, LinkTrial

#: Longer than any of their results counts.
KEPT: Final = timedelta(days=100)


@transaction.atomic
def purge_trials(*, now: datetime) -> int:
    """Delete trials that ended over 100 days ago, with what either end said; returns how many."""
    old = LinkTrial.objects.filter(ended_at__lt=now - KEPT)
    LinkSide.objects.filter(trial__in=old).delete()
    return old.delete()[0]
