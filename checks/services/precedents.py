"""What others told in public, as it stands in the files: loaded anew, it replaces what was loaded before."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from checks.domain.incidents.knowledge import Known
from checks.models import Precedent


@transaction.atomic
def load_precedents(*, known: Iterable[Known], now: datetime) -> int:
    """Keep exactly *known*; returns how many there are. It enters no figure of any cluster, and no ledger."""
    rows = [
        Precedent(
            key=one.key, origin=one.origin.value, happened=one.happened, run=one.run, component=one.component.value,
            source=one.source, title_en=one.en.title, title_zh=one.zh.title, told_en=one.en.told, told_zh=one.zh.told,
            items=list(one.items), loaded_at=now,
        )
        for one in known
    ]  # fmt: skip
    Precedent.objects.all().delete()
    return len(Precedent.objects.bulk_create(rows))
