"""Acts, written down in the transaction that does them, one after the other."""

import json
from datetime import datetime
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction

from checks.dispatch import enqueue
from checks.domain.ledger import GENESIS, Entry
from checks.domain.notices import TOLD
from checks.models import Cluster, LedgerEntry

_NOTIFY: Final = "checks.notify"
# Held until the act's transaction ends: whoever appends, appends alone.
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('countersign.ledger'))"


@transaction.atomic(savepoint=False)  # outside an act's own transaction the lock would end with its statement
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
    """Append one act to the chain. *who* is None for the portal itself and for programs that hold a token.

    Always the last lock that a transaction takes: every other act of the site waits until it has ended. Only further
    entries may follow, and what is enqueued here for acts that people are told of: a row that nobody else can want.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK)  # a statement of its own: the head must be read by a later one, or two read the same
    last = LedgerEntry.objects.order_by("-seq").values_list("seq", "digest").first() or (0, GENESIS)
    entry = Entry(
        seq=last[0] + 1,
        previous=last[1],
        at=now,
        who=str(who.pk) if who is not None else "",
        name=str(who)[:150] if who is not None else "",
        what=what,
        cluster=cluster.slug if cluster is not None else "",
        cluster_number=str(cluster.pk) if cluster is not None else "",
        target=target[:300],
        reason=reason,
        # As PostgreSQL will give it back: what was hashed must be what is stored.
        data=json.loads(json.dumps(data or {}, cls=DjangoJSONEncoder)),
    )
    row = LedgerEntry.objects.create(
        seq=entry.seq, previous=entry.previous, digest=entry.digest, at=now, who_id=who.pk if who else None,
        name=entry.name, what=what, cluster=cluster, target=entry.target, reason=reason, data=entry.data,
    )  # fmt: skip
    if what in TOLD:
        enqueue(_NOTIFY, row.pk, now=now)
    return row
