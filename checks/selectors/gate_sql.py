"""The gate's second statement: summaries of the asked nodes, and at most 101 rows that close the question.

Nothing is judged here: the domain does that, and applies the clock. Only nodes whose evidence has ended are left out of
the comparison between nodes: what a node was long ago must not outvote what others are.
"""

from typing import Final

# One more than an answer shows, so that it can say that there are more.
MOST_ROWS: Final = 101

_SUMMARY: Final = (
    "hostname", "profile", "trouble", "origin", "judged_under", "tick_expected", "daily_expected", "tick_until",
    "daily_until", "health_bad", "health_failed", "start_bad", "health_pass_physical", "health_pass_system",
)  # fmt: skip

# A node without a summary was enrolled by a portal that died right then: it counts as never measured.
_ASKED = """
    SELECT n.id, n.hostname, COALESCE(NULLIF(n.profile, ''), %(profile)s) AS profile, n.trouble,
        COALESCE(r.origin, n.origin) AS origin, COALESCE(r.judged_under, '') AS judged_under,
        COALESCE(r.tick_expected, 0) AS tick_expected, COALESCE(r.daily_expected, 0) AS daily_expected,
        r.tick_until, r.daily_until,
        COALESCE(r.health_bad, 0) AS health_bad, COALESCE(r.health_failed, 0) AS health_failed,
        COALESCE(r.start_bad, 0) AS start_bad, COALESCE(r.health_pass_physical, 0) AS health_pass_physical,
        COALESCE(r.health_pass_system, 0) AS health_pass_system
    FROM checks_node n
    LEFT JOIN checks_nodereadiness r ON r.node_id = n.id
    WHERE n.cluster_id = %(cluster)s AND n.retired_at IS NULL
"""
_BAD = f"""
    SELECT a.hostname, s.item, s.subject, s.layer, s.cadence, s.raw, s.reason, s.detail, s.value, s.observed_at,
        s.valid_until, s.since
    FROM asked a
    JOIN checks_nodeitemstate s ON s.node_id = a.id AND s.blocks > 0
    WHERE a.bad > 0 AND s.blocks >= %(level)s
    ORDER BY s.raw, array_position(ARRAY['physical', 'system', 'framework', 'data', 'operations'], s.layer::text),
        s.item, a.hostname, s.subject
    LIMIT {MOST_ROWS}
"""  # noqa: S608  ('fail' sorts before 'unknown')
# Measured values of items that must be the same on all nodes. Whoever agrees with its group is only counted: members
# are listed where a group knows more than one value.
_COMPARED = """
    SELECT g.item, g.profile, g.part, g.facts,
        CASE WHEN count(*) OVER (PARTITION BY g.item, g.profile, g.part) > 1 THEN g.members END AS members
    FROM (
        SELECT s.item, a.profile, s.value #>> '{facts,part_number}' AS part,
            (SELECT jsonb_object_agg(fact.key, fact.value) FROM jsonb_each(s.value -> 'facts') AS fact
                WHERE fact.key = ANY(u.facts)) AS facts,
            json_agg(json_build_array(a.hostname, s.subject)) AS members
        FROM json_to_recordset(%(uniform)s::json) AS u(item varchar, facts text[])
        CROSS JOIN asked a
        JOIN checks_nodeitemstate s ON s.node_id = a.id AND s.item = u.item
        WHERE s.raw IN ('pass', 'warn', 'fail')
            AND CASE s.cadence WHEN 'tick' THEN a.tick_until ELSE a.daily_until END >= %(now)s
        GROUP BY 1, 2, 3, 4
    ) AS g
"""


def _statement(asked: str) -> str:
    return f"""
        WITH asked AS MATERIALIZED (
            SELECT *, CASE WHEN %(level)s = 2 THEN health_bad ELSE start_bad END AS bad FROM ({_ASKED} {asked}) AS n
        )
        SELECT json_build_object(
            'nodes', (SELECT json_agg(json_build_array({", ".join(_SUMMARY)}) ORDER BY hostname) FROM asked),
            'bad', (SELECT json_agg(b) FROM ({_BAD}) AS b),
            'compared', (SELECT json_agg(c) FROM ({_COMPARED}) AS c WHERE members IS NOT NULL)
        )::text
    """  # noqa: S608


ALL_NODES: Final = _statement("")
NAMED_NODES: Final = _statement("AND n.hostname = ANY(%(nodes)s)")
