"""Acts, written down in the transaction that does them."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from checks.models import Cluster, LedgerEntry


def write_entry(
    *,
    what: str,
    target: str,
    now: datetime,
    who: AbstractBaseUser | None = None,
    cluster: Cluster | None = None,
    reason: str = "",
    data: dict[str, Any] | None = None,
) -> LedgerEntry:
    """Record one act. *who* is None for the portal itself and for programs that hold a token."""
    return LedgerEntry.objects.create(
        at=now,
        who_id=who.pk if who is not None else None,
        what=what,
        cluster=cluster,
        target=target[:300],
        reason=reason,
        data=data or {},
    )
