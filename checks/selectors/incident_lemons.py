"""Machines and GPUs that incidents touch more often than chance explains, by serial and never by host name."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from checks.domain.incidents.kinds import Component
from checks.domain.incidents.lemons import Record, Suspect, suspects

# What people changed or maintained says nothing about the machine that they did it on.
_EXCUSED: Final = [one.value for one in Component if not one.counts_as_failure]
#: The most lines of a list of suspects.
MOST_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a serial was seen: host names of incidents and of now, and its newest incident."""

    suspect: Suspect
    hostnames: tuple[str, ...]
    now_at: tuple[str, ...]
    last: int


# One row a serial: incidents that touched it, days that nodes which hold or held it were watched, and where it was.
# A machine is looked up in the slot "system"; every other slot is a part.
_RECORDS: Final = """
    WITH touched AS (
        SELECT {serial} AS serial, t.incident_id, t.hostname, t.node_id
        FROM checks_incidentnode t JOIN checks_incident i ON i.id = t.incident_id
        WHERE i.cluster_id = ANY(%(clusters)s) AND i.standing <> 'merged' AND i.component <> ALL(%(excused)s)
            AND {serial} <> ''
    ), held AS (
        SELECT s.value AS serial, n.id AS node_id, n.hostname, n.retired_at IS NULL AS lives
        FROM checks_node n, jsonb_each_text(n.serials) AS s(slot, value)
        WHERE n.cluster_id = ANY(%(clusters)s) AND (s.slot = 'system') = %(machines)s
            AND s.value IN (SELECT serial FROM touched)
    ), places AS (
        SELECT serial, node_id FROM touched WHERE node_id IS NOT NULL UNION SELECT serial, node_id FROM held
    ), watched AS (
        SELECT p.serial, sum(EXTRACT(epoch FROM COALESCE(n.retired_at, %(now)s) - n.enrolled_at)) / 86400 AS days
        FROM places p JOIN checks_node n ON n.id = p.node_id GROUP BY 1
    )
    SELECT t.serial, count(DISTINCT t.incident_id), COALESCE(max(w.days), 0)::float8,
        array_agg(DISTINCT t.hostname), max(t.incident_id),
        ARRAY(SELECT DISTINCT h.hostname FROM held h WHERE h.serial = t.serial AND h.lives ORDER BY 1)
    FROM touched t LEFT JOIN watched w USING (serial)
    GROUP BY t.serial
"""
# All serials of the fleet, whether or not anything ever happened to them.
_FLEET: Final = """
    SELECT COALESCE(sum(EXTRACT(epoch FROM COALESCE(n.retired_at, %(now)s) - n.enrolled_at)) / 86400, 0)::float8
    FROM checks_node n, jsonb_each_text(n.serials) AS s(slot, value)
    WHERE n.cluster_id = ANY(%(clusters)s) AND (s.slot = 'system') = %(machines)s
"""


def lemon_machines(clusters: Collection[int], *, now: datetime) -> tuple[Seen, ...]:
    """Machines that incidents touched, the least explained by chance first."""
    return _seen(clusters, "t.machine_serial", machines=True, now=now)


def lemon_parts(clusters: Collection[int], *, now: datetime) -> tuple[Seen, ...]:
    """GPUs and other parts with a serial that incidents touched, the least explained by chance first."""
    return _seen(clusters, "t.part_serial", machines=False, now=now)


def _seen(clusters: Collection[int], serial: str, *, machines: bool, now: datetime) -> tuple[Seen, ...]:
    given: dict[str, Any] = {"clusters": list(clusters), "machines": machines, "now": now, "excused": _EXCUSED}
    with connection.cursor() as cursor:
        cursor.execute(_FLEET, given)
        (fleet_days,) = cursor.fetchone()
        cursor.execute(_RECORDS.format(serial=serial), given)
        rows = {row[0]: row for row in cursor.fetchall()}
    records = [Record(key, count, days) for key, count, days, *_where in rows.values()]
    touched = sum(record.incidents for record in records)
    found = suspects(records, fleet_incidents=touched, fleet_days=fleet_days)[:MOST_SHOWN]
    return tuple(_placed(one, rows[one.record.serial]) for one in found)


def _placed(suspect: Suspect, row: tuple[str, int, float, list[str], int, list[str]]) -> Seen:
    _serial, _count, _days, hostnames, last, now_at = row
    return Seen(suspect, tuple(hostnames), tuple(now_at), last)
