"""Numbers over time: least, greatest and last value a fact, by hour and by day of their receipt.

Reports are kept for three days, hours for seven, days for 400. A roll-up is computed anew from all that it is made of,
so running it twice, or late, changes nothing.
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from checks.models import Node

_NODES: Final = 256

# Every numeric fact of the reports of a span; texts, booleans and facts in an unexpected unit have no history. One
# number that no column holds (JSON knows them) must not stop the others.
_HOURS = """
    INSERT INTO checks_valuerollup (node_id, item, subject, name, grain, at, least, greatest, last, samples)
    SELECT r.node_id, i.key, s.key, f.key, 'hour', date_trunc('hour', r.received_at, 'UTC'),
           min(f.value::float8), max(f.value::float8),
           (array_agg(f.value::float8 ORDER BY r.observed_at DESC))[1], count(*)
    FROM checks_report r,
         jsonb_each(r.body -> 'facts') AS i(key, value),
         jsonb_each(i.value) AS s(key, value),
         jsonb_each(s.value) AS f(key, value)
    WHERE r.node_id = ANY(%(nodes)s) AND r.received_at >= %(start)s AND r.received_at < %(end)s
        AND CASE WHEN jsonb_typeof(f.value) = 'number' THEN f.value::numeric END BETWEEN -1e308 AND 1e308
    GROUP BY 1, 2, 3, 4, 6
    ON CONFLICT (node_id, item, subject, name, grain, at) DO UPDATE SET
        least = EXCLUDED.least, greatest = EXCLUDED.greatest, last = EXCLUDED.last, samples = EXCLUDED.samples
"""
_DAYS = """
    INSERT INTO checks_valuerollup (node_id, item, subject, name, grain, at, least, greatest, last, samples)
    SELECT node_id, item, subject, name, 'day', date_trunc('day', at, 'UTC'),
           min(least), max(greatest), (array_agg(last ORDER BY at DESC))[1], sum(samples)
    FROM checks_valuerollup
    WHERE node_id = ANY(%(nodes)s) AND grain = 'hour' AND at >= %(start)s AND at < %(end)s
    GROUP BY 1, 2, 3, 4, 6
    ON CONFLICT (node_id, item, subject, name, grain, at) DO UPDATE SET
        least = EXCLUDED.least, greatest = EXCLUDED.greatest, last = EXCLUDED.last, samples = EXCLUDED.samples
"""


def roll_up(*, now: datetime) -> int:
    """Roll up the hour that is running and the one before it, and the days that they belong to; returns the rows.

    A few hundred nodes a transaction: an hour of a large fleet is millions of facts.
    """
    hour = now.replace(minute=0, second=0, microsecond=0)
    start, end = hour - timedelta(hours=1), hour + timedelta(hours=1)
    nodes = list(Node.objects.filter(readiness__last_report_at__gte=start).order_by("pk").values_list("pk", flat=True))
    batches = (nodes[place : place + _NODES] for place in range(0, len(nodes), _NODES))
    return sum(_roll_up(batch, start, end) for batch in batches)


@transaction.atomic
def _roll_up(nodes: list[UUID], start: datetime, end: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_HOURS, {"nodes": nodes, "start": start, "end": end})
        rows: int = cursor.rowcount
        cursor.execute(_DAYS, {"nodes": nodes, "start": start.replace(hour=0), "end": end})
        return rows + int(cursor.rowcount)
