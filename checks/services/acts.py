"""An act that people are told about: written into the ledger, and enqueued for notices with its entry."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from checks.dispatch import enqueue
from checks.models import Cluster, LedgerEntry
from checks.services.ledger import write_entry

NOTIFY = "checks.notify"


def write_and_tell(
    *,
    what: str,
    target: str,
    who: AbstractBaseUser | None,
    cluster: Cluster,
    now: datetime,
    reason: str = "",
    data: dict[str, Any] | None = None,
) -> LedgerEntry:
    """Append the act, and have whoever it concerns told; the last lock of its transaction."""
    entry = write_entry(what=what, target=target, who=who, cluster=cluster, now=now, reason=reason, data=data)
    enqueue(NOTIFY, entry.pk, now=now)
    return entry
