"""What the clock does to evidence: a ``Gap`` for each (node, cadence) that nobody reports any more.

Nothing here changes an answer: the gate judges freshness by itself on every request. A gap is history, and the
sweep's heartbeat is what lets a drain trust that history is being kept.
"""

from datetime import datetime

from django.db import connection, transaction

from checks.services.heartbeats import note_alive


@transaction.atomic
def sweep_gaps(*, now: datetime) -> int:
    """Open a gap where evidence has ended, close one where it came back; returns how many were opened.

    Running twice, or beside another sweep, changes nothing. The next report closes a gap; closing here as well heals
    a report that committed while the sweep was reading.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CLOSE, {"now": now})
        cursor.execute(_OPEN, {"now": now})
        opened = int(cursor.rowcount)
    note_alive(name="sweep", now=now)
    return opened


_CADENCES = """
    CROSS JOIN LATERAL (VALUES ('tick', r.tick_at, r.tick_until), ('daily', r.daily_at, r.daily_until))
        AS c(cadence, stamp, until)
"""
# A node that never reported has no evidence since it enrolled. An open gap is not opened again at another start.
_OPEN = f"""
    INSERT INTO checks_gap (node_id, cadence, started_at)
    SELECT n.id, c.cadence, COALESCE(c.until, n.enrolled_at)
    FROM checks_node n
    JOIN checks_cluster k ON k.id = n.cluster_id AND k.closed_at IS NULL
    JOIN checks_nodereadiness r ON r.node_id = n.id
    {_CADENCES}
    WHERE n.retired_at IS NULL AND COALESCE(c.until, n.enrolled_at) < %(now)s
      AND NOT EXISTS (SELECT FROM checks_gap g WHERE g.node_id = n.id AND g.cadence = c.cadence AND g.ended_at IS NULL)
    ON CONFLICT DO NOTHING
"""  # noqa: S608
_CLOSE = f"""
    UPDATE checks_gap g SET ended_at = GREATEST(c.stamp, g.started_at)
    FROM checks_nodereadiness r {_CADENCES}
    WHERE r.node_id = g.node_id AND c.cadence = g.cadence AND g.ended_at IS NULL AND c.until >= %(now)s
"""  # noqa: S608
