"""The only place that enqueues: one Outbox row, in the transaction of the act that wants the task.

Nothing here knows the broker: a frozen one would cost the request 8 to 60 seconds. Worker and beat send the row
(``checks.services.outbox``); a rolled-back act takes its row with it.
"""

from datetime import datetime

from django.db import connection
from django.db.transaction import TransactionManagementError

from checks.models import Outbox

# What senders LISTEN to; PostgreSQL delivers it when the act commits.
CHANNEL = "countersign_outbox"


def enqueue(task: str, *args: int | str, now: datetime) -> Outbox:
    """Have *task* run with *args*, which are ids only: the task reads what is true when it runs, and may run twice.

    Raises:
        TransactionManagementError: called outside a transaction, where act and task could part.
    """
    if not connection.in_atomic_block:
        raise TransactionManagementError(f"{task} must be enqueued inside the transaction of the act that wants it.")
    row = Outbox.objects.create(task=task, args=list(args), created_at=now, due_at=now)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
    return row
