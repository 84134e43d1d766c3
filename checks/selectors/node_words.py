"""What nodes last said of an item that no node holds: their own words stand in their stored reports."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from checks.domain.shared_items import NodeWord
from checks.models import Cluster


class Heard(NamedTuple):
    """One node's word, and when it measured that; None where it has said nothing lately."""

    word: NodeWord
    observed_at: datetime | None


# A node that is silent altogether is not asked: its own rows keep it from any start, and it shall keep no other.
# One look into an index a node: a report of the tick is passed over where the item is of the day.
_WORDS = """
    SELECT n.hostname, said.observed_at, said.facts, said.problem
    FROM checks_node n
    JOIN checks_nodereadiness h ON h.node_id = n.id
     AND h.last_report_at IS NOT NULL AND COALESCE(h.tick_until, %(now)s) >= %(now)s
    LEFT JOIN LATERAL (
        SELECT r.observed_at, r.body -> 'facts' -> %(item)s AS facts,
               (SELECT p ->> 3 FROM jsonb_array_elements(r.body -> 'problems') AS p WHERE p ->> 0 = %(item)s LIMIT 1)
                   AS problem
        FROM checks_report r
        WHERE r.node_id = n.id AND r.received_at > %(since)s AND (%(ticks)s OR r.cadence <> 'tick')
          AND r.body -> 'covered' @> to_jsonb(%(item)s::text)
        ORDER BY r.received_at DESC
        LIMIT 1
    ) AS said ON true
    WHERE n.cluster_id = %(cluster)s AND n.retired_at IS NULL AND (%(nodes)s::uuid[] IS NULL OR n.id = ANY(%(nodes)s))
    ORDER BY n.hostname
"""


def words_of_nodes(
    cluster: Cluster, item: str, *, since: datetime, ticks: bool, now: datetime, nodes: list[UUID] | None = None
) -> list[Heard]:
    """The last word of each living node of *cluster* (or of *nodes* alone) on *item*, where it came after *since*.

    *ticks*: whether it is measured in rounds of the tick as well.
    """
    asked: dict[str, Any] = {
        "cluster": cluster.pk, "item": item, "since": since, "ticks": ticks, "now": now, "nodes": nodes,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_WORDS, asked)
        return [_heard(*row) for row in cursor.fetchall()]


def _heard(hostname: str, observed_at: datetime | None, facts: Any, problem: str | None) -> Heard:
    facts = json.loads(facts) if isinstance(facts, str) else facts
    if observed_at is None:
        return Heard(NodeWord(hostname, problem="it has not reported it lately"), None)
    return Heard(NodeWord(hostname, _plain(facts or {}), problem or ""), observed_at)


def _plain(said: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Values alone: one that the catalogue does not state is stored with its unit."""
    return {
        subject: {name: value[0] if isinstance(value, list) else value for name, value in facts.items()}
        for subject, facts in said.items()
    }
