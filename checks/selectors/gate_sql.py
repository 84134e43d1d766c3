"""The gate's second statement: summaries of the asked nodes, and at most 101 rows that close the question.

Nodes against whose *health* nothing speaks are only named, so that 4,096 of them are not carried to the web process one
by one: ``_CLEAN`` says which (a test holds it to the domain's ``decide``, with the same clock). Everything about any
other node is decided by the domain.
"""

from typing import Final

from checks.selectors.prepared import Statement

# One more than an answer shows, so that it can say that there are more.
MOST_ROWS: Final = 101

_SUMMARY: Final = (
    "hostname", "profile", "trouble", "origin", "judged_under", "tick_expected", "daily_expected", "tick_until",
    "daily_until", "health_bad", "health_failed", "start_bad", "health_pass_physical", "health_pass_system",
    "start_until", "measuring_until",
)  # fmt: skip

# The domain's rules for a node that is *ready* for the question of health; anything else is left to the domain itself.
_CLEAN = """
    %(level)s = 2 AND trouble = '' AND measuring_until IS NULL AND judged_under = rules AND health_bad = 0
    AND health_pass_physical > 0 AND health_pass_system > 0
    AND CASE WHEN tick_until IS NULL THEN tick_expected = 0 ELSE tick_until >= %(now)s END
    AND CASE WHEN daily_until IS NULL THEN daily_expected = 0 ELSE daily_until >= %(now)s END
"""
# A node without a summary was enrolled by a portal that died right then: it counts as never measured.
_ASKED = """
    SELECT n.id, n.hostname, COALESCE(NULLIF(n.profile, ''), %(profile)s) AS profile, n.trouble,
        COALESCE(r.origin, n.origin) AS origin, COALESCE(r.judged_under, '') AS judged_under,
        COALESCE(r.tick_expected, 0) AS tick_expected, COALESCE(r.daily_expected, 0) AS daily_expected,
        r.tick_at, r.daily_at, r.tick_until, r.daily_until,
        COALESCE(r.health_bad, 0) AS health_bad, COALESCE(r.health_failed, 0) AS health_failed,
        COALESCE(r.start_bad, 0) AS start_bad, r.start_until,
        COALESCE(r.health_pass_physical, 0) AS health_pass_physical,
        COALESCE(r.health_pass_system, 0) AS health_pass_system, COALESCE(r.uniform, '') AS uniform,
        m.until AS measuring_until
    FROM checks_node n
    LEFT JOIN checks_nodereadiness r ON r.node_id = n.id AND r.cluster_id = %(cluster)s
    LEFT JOIN checks_nodeclaim m ON m.node_id = n.id AND m.ended_at IS NULL AND m.until > %(now)s
    WHERE n.cluster_id = %(cluster)s AND n.retired_at IS NULL
"""
# A full report writes only rows that changed: a row is as young as its cadence's last full report, if that is younger.
SEEN: Final = """
    CASE WHEN s.observed_at IS NOT NULL THEN
        GREATEST(s.observed_at, CASE s.cadence WHEN 'tick' THEN a.tick_at WHEN 'daily' THEN a.daily_at END)
    END
"""
ROW: Final = f"""
    a.hostname, s.item, s.subject, s.layer, s.cadence, s.raw, s.reason, s.detail, s.value, s.observed_at,
    {SEEN} AS seen_at, s.valid_until, s.since
"""
# Each of these nodes brings a row at least, so no more of them are needed. _MOST is how many rows are.
_BAD = f"""
    SELECT {ROW}
    FROM (SELECT * FROM asked WHERE bad > 0 ORDER BY health_failed DESC, hostname COLLATE "C" LIMIT _MOST) AS a
    JOIN checks_nodeitemstate s ON s.node_id = a.id AND s.blocks > 0
    WHERE s.blocks >= %(level)s
    ORDER BY s.raw, array_position(ARRAY['physical', 'system', 'framework', 'data', 'operations'], s.layer::text),
        s.item, a.hostname COLLATE "C", s.subject
    LIMIT _MOST
"""  # noqa: S608  ('fail' sorts before 'unknown')
# Measured values of items that must be the same on all nodes. Members ("host subject") are listed only where a group
# of one profile and part number knows more than one set of facts. What a node was long ago must not outvote what others
# are: nodes whose evidence has ended are left out.
_COMPARED = """
    SELECT json_agg(c) FROM (
        SELECT g.*, count(*) OVER (PARTITION BY item, profile, facts ->> 'part_number') AS known
        FROM (
            SELECT s.item, a.profile, s.value -> 'facts' AS facts, array_agg(a.hostname || ' ' || s.subject) AS members
            FROM asked a
            JOIN checks_nodeitemstate s ON s.node_id = a.id AND s.item = ANY(%(uniform)s::text[])
            WHERE s.raw IN ('pass', 'warn', 'fail')
                AND CASE s.cadence WHEN 'tick' THEN a.tick_until ELSE a.daily_until END >= %(now)s
            GROUP BY 1, 2, 3
        ) AS g
    ) AS c WHERE known > 1
"""
# Profiles of which one fingerprint does not speak for all nodes that would be compared: reading their rows takes a
# hundred times as long as this.
_UNLIKE = """
    SELECT profile FROM asked
    WHERE (uniform <> 'none' OR judged_under <> rules) AND (tick_until >= %(now)s OR daily_until >= %(now)s)
    GROUP BY profile, rules
    HAVING min(uniform COLLATE "C") <> max(uniform COLLATE "C") OR min(uniform) = '' OR bool_or(judged_under <> rules)
"""
MISSING: Final = """
    CASE WHEN (SELECT count(*) FROM asked) < cardinality(%(nodes)s::text[]) THEN (
        SELECT json_agg(name) FROM unnest(%(nodes)s::text[]) AS name
        WHERE NOT EXISTS (SELECT FROM asked a WHERE a.hostname = name))
    END
"""


def rows_statement(asked: str, missing: str, *, ahead: str = "", most: str = str(MOST_ROWS), more: str = "") -> str:
    """The statement about the nodes that *asked* narrows down to; *missing* tells names that nobody enrolled.

    A run's question has tables *ahead* of it, needs *most* rows and tells *more*.
    """
    return f"""
        WITH {ahead} asked AS MATERIALIZED (
            SELECT *, CASE WHEN %(level)s = 2 THEN health_bad ELSE start_bad END AS bad, ({_CLEAN}) IS TRUE AS clean
            FROM (SELECT *, (SELECT %(rules)s::jsonb) ->> profile AS rules FROM ({_ASKED} {asked}) AS n) AS n
        )
        SELECT json_build_object(
            'snapshot', pg_current_snapshot()::text, 'same_until', seen.same_until,
            'clean', seen.clean, 'clean_until', seen.clean_until, 'others', seen.others,
            'bad', (SELECT json_agg(b) FROM ({_BAD.replace("_MOST", most)}) AS b),
            'compared', CASE WHEN cardinality(%(uniform)s::text[]) > 0 AND EXISTS ({_UNLIKE}) THEN ({_COMPARED}) END,
            'missing', {missing} {more}
        )::text
        FROM (
            SELECT json_agg(hostname) FILTER (WHERE clean) AS clean,
                LEAST(min(tick_until) FILTER (WHERE clean), min(daily_until) FILTER (WHERE clean)) AS clean_until,
                LEAST(min(tick_until) FILTER (WHERE tick_until >= %(now)s),
                    min(daily_until) FILTER (WHERE daily_until >= %(now)s)) AS same_until,
                json_agg(json_build_array({", ".join(_SUMMARY)})) FILTER (WHERE NOT clean) AS others
            FROM asked
        ) AS seen
    """  # noqa: S608


NAMED: Final = "AND n.hostname IN (SELECT unnest(%(nodes)s::text[]))"
ALL_NODES: Final = Statement.of(rows_statement("", "NULL"))
NAMED_NODES: Final = Statement.of(rows_statement(NAMED, MISSING))
