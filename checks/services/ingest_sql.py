"""The three statements of one report, as text. All are prepared once a connection; none grows with the report.

1. ``LOCK`` finds the token and locks its node (``FOR NO KEY UPDATE``: reports of one node queue up, foreign keys to it
   do not wait).
2. ``LOAD`` reads what was known. It runs after the lock was granted, so it sees what the report before it wrote; the
   rules in force are read here again for the same reason.
3. ``WRITE`` stores everything at once. Every part hangs on the receipt: a report that was stored before writes nothing.
"""

from checks.services.node_rows import StateRow

_STATE_TYPES = {
    "item": "varchar", "subject": "varchar", "layer": "varchar", "scope": "varchar", "cadence": "varchar",
    "severity": "varchar", "shadow": "boolean", "raw": "varchar", "settled": "varchar", "pending": "varchar",
    "settle_count": "smallint", "counted_at": "timestamptz", "value": "jsonb", "facts": "jsonb", "identity": "jsonb",
    "observed_at": "timestamptz", "since": "timestamptz", "settled_since": "timestamptz", "epoch": "integer",
    "blocks": "smallint", "reason": "varchar", "detail": "varchar", "item_version": "varchar",
    "loaded_until": "timestamptz", "valid_until": "timestamptz", "evidence": "varchar",
}  # fmt: skip
_STATE_COLUMNS = tuple((name, _STATE_TYPES[name]) for name in StateRow.__struct_fields__)
_READINESS_COLUMNS = (
    ("tick_at", "timestamptz"), ("tick_until", "timestamptz"), ("daily_at", "timestamptz"),
    ("daily_until", "timestamptz"), ("tick_expected", "smallint"), ("daily_expected", "smallint"),
    ("health_bad", "smallint"), ("health_failed", "smallint"), ("health_pass_physical", "smallint"),
    ("health_pass_system", "smallint"), ("start_bad", "smallint"), ("start_until", "timestamptz"),
    ("layers", "jsonb"), ("digests", "jsonb"), ("judged_under", "varchar"), ("last_report_at", "timestamptz"),
    ("last_observed_at", "timestamptz"), ("last_boottime", "double precision"), ("origin", "varchar"),
    ("captured_at", "timestamptz"), ("lost_reports", "bigint"),
    ("uniform", "varchar"),
)  # fmt: skip
_FLIP_COLUMNS = (
    ("item", "varchar"), ("subject", "varchar"), ("observed_at", "timestamptz"), ("raw_before", "varchar"),
    ("raw", "varchar"), ("settled_before", "varchar"), ("settled", "varchar"), ("reason", "varchar"),
    ("detail", "varchar"), ("value", "jsonb"), ("item_version", "varchar"), ("cause", "varchar"),
)  # fmt: skip


def _names(columns: tuple[tuple[str, str], ...], prefix: str = "") -> str:
    return ", ".join(prefix + name for name, _ in columns)


def _record(alias: str, columns: tuple[tuple[str, str], ...]) -> str:
    return f"AS {alias}({', '.join(f'{name} {kind}' for name, kind in columns)})"


def _overwrite(columns: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} = EXCLUDED.{name}" for name, _ in columns)


_OF_NODE = """
               n.id AS node_id, n.hostname, n.serials, n.unconfirmed_serials, n.boot_id, n.boot_since, n.past_boots,
               n.origin, n.trouble, n.retired_at, n.agent_version, n.retired_subjects,
               c.id AS cluster_id, c.slug AS cluster, c.interval_s, c.poll_after_s, c.min_settle_gap_s,
               c.accept_replay, c.closed_at, COALESCE(NULLIF(n.profile, ''), c.profile) AS profile
"""

LOCK = f"""
    SELECT row_to_json(found)::text FROM (
        SELECT t.id AS token_id, t.kind, t.digest, t.pepper, t.expires_at, t.revoked_at, t.networks, t.last_used_at,
        {_OF_NODE}
        FROM checks_token t
        JOIN checks_node n ON n.id = t.node_id
        JOIN checks_cluster c ON c.id = n.cluster_id
        WHERE t.key = %(key)s
        FOR NO KEY UPDATE OF n
    ) AS found
"""  # noqa: S608

# The same for what somebody else than its agent tells of the node: no token is the node's own.
LOCK_TOLD = f"""
    SELECT row_to_json(found)::text FROM (
        SELECT 0 AS token_id, '' AS kind, '' AS digest, 0 AS pepper, NULL AS expires_at, NULL AS revoked_at,
               '[]'::json AS networks, NULL AS last_used_at,
        {_OF_NODE}
        FROM checks_node n
        JOIN checks_cluster c ON c.id = n.cluster_id
        WHERE n.id = %(node)s
        FOR NO KEY UPDATE OF n
    ) AS found
"""  # noqa: S608

_PREVIOUS = """
    SELECT
        COALESCE((SELECT json_agg(json_build_array({columns})) FROM checks_nodeitemstate
                  WHERE node_id = %(node)s {which}), '[]') AS states,
        COALESCE((SELECT json_agg(json_build_array(item, subject, state)) FROM checks_nodememory
                  WHERE node_id = %(node)s), '[]') AS memory,
        (SELECT row_to_json(r) FROM (
            SELECT {summary} FROM checks_nodereadiness WHERE node_id = %(node)s
        ) AS r) AS readiness,
        (SELECT judged_under ->> %(profile)s FROM checks_cluster WHERE id = %(cluster)s) AS judged_under
"""


def _previous(which: str = "") -> str:
    return _PREVIOUS.format(columns=_names(_STATE_COLUMNS), summary=_names(_READINESS_COLUMNS), which=which)


# Half of a node's rows are of items that no probe measures yet; a report that says nothing of them need not read them.
_MEASURED = "AND NOT (shadow AND observed_at IS NULL)"

LOAD = f"""
    SELECT row_to_json(known)::text FROM (
        SELECT previous.*,
            EXISTS (SELECT FROM checks_reportreceipt WHERE node_id = %(node)s AND report_id = %(report_id)s)
                AS duplicate,
            COALESCE((SELECT json_agg(q) FROM (
                SELECT id, items, requested_at FROM checks_recheckrequest
                WHERE node_id = %(node)s AND done_at IS NULL AND expires_at > %(now)s ORDER BY requested_at, id
            ) AS q), '[]') AS rechecks
        FROM ({_previous(_MEASURED)}) AS previous
    ) AS known
"""  # noqa: S608

LOCK_NODE = """
    SELECT row_to_json(found)::text FROM (
        SELECT n.id AS node_id, n.retired_subjects, c.id AS cluster_id, c.slug AS cluster,
               COALESCE(NULLIF(n.profile, ''), c.profile) AS profile
        FROM checks_node n JOIN checks_cluster c ON c.id = n.cluster_id
        WHERE n.id = %(node)s
        FOR NO KEY UPDATE OF n
    ) AS found
"""

# What re-judging reads: the same, under the same lock, without a report.
LOAD_ALL = f"SELECT row_to_json(previous)::text FROM ({_previous()}) AS previous"  # noqa: S608

_STATES = f"""
    INSERT INTO checks_nodeitemstate (node_id, {_names(_STATE_COLUMNS)})
    SELECT t.node_id, {_names(_STATE_COLUMNS, "s.")}
    FROM target t, json_to_recordset(%(states)s::json) {_record("s", _STATE_COLUMNS)}
    ON CONFLICT (node_id, item, subject) DO UPDATE SET {_overwrite(_STATE_COLUMNS)}
"""  # noqa: S608
_GONE = """
    DELETE FROM checks_nodeitemstate g
    USING target t, json_to_recordset(%(gone)s::json) AS s(item varchar, subject varchar)
    WHERE g.node_id = %(node)s::uuid AND g.item = s.item AND g.subject = s.subject
"""
_FLIPS = f"""
    INSERT INTO checks_flip (at, cluster_id, node_id, report_id, {_names(_FLIP_COLUMNS)})
    SELECT %(now)s::timestamptz, %(cluster)s::bigint, t.node_id, %(report_id)s::uuid, {_names(_FLIP_COLUMNS, "f.")}
    FROM target t, json_to_recordset(%(flips)s::json) {_record("f", _FLIP_COLUMNS)}
"""  # noqa: S608
_READINESS = f"""
    INSERT INTO checks_nodereadiness (node_id, cluster_id, {_names(_READINESS_COLUMNS)})
    SELECT t.node_id, %(cluster)s::bigint, {_names(_READINESS_COLUMNS, "r.")}
    FROM target t, json_to_record(%(readiness)s::json) {_record("r", _READINESS_COLUMNS)}
    ON CONFLICT (node_id) DO UPDATE SET cluster_id = EXCLUDED.cluster_id, {_overwrite(_READINESS_COLUMNS)}
"""  # noqa: S608
_OUTBOX = """
    INSERT INTO checks_outbox (task, args, created_at, due_at, attempts, error)
    SELECT o.task, o.args, %(now)s::timestamptz, %(now)s::timestamptz, 0, ''
    FROM target t, json_to_recordset(%(outbox)s::json) AS o(task varchar, args jsonb)
    RETURNING id
"""

WRITE = f"""
    WITH target AS (
        INSERT INTO checks_reportreceipt (node_id, report_id, received_at)
        VALUES (%(node)s::uuid, %(report_id)s::uuid, %(now)s::timestamptz)
        ON CONFLICT DO NOTHING
        RETURNING node_id
    ), report AS (
        INSERT INTO checks_report
            (node_id, report_id, received_at, observed_at, cadence, agent_version, boot_id, captured_at, body)
        SELECT t.node_id, %(report_id)s::uuid, %(now)s::timestamptz, %(observed_at)s::timestamptz, %(cadence)s,
               %(agent_version)s, %(boot_id)s, %(captured_at)s::timestamptz, %(body)s::jsonb
        FROM target t
    ), states AS ({_STATES}
    ), gone AS ({_GONE}
    ), flips AS ({_FLIPS}
    ), memory AS (
        INSERT INTO checks_nodememory (node_id, item, subject, state)
        SELECT t.node_id, m.item, m.subject, m.state
        FROM target t, json_to_recordset(%(memory)s::json) AS m(item varchar, subject varchar, state jsonb)
        ON CONFLICT (node_id, item, subject) DO UPDATE SET state = EXCLUDED.state
    ), evidence AS (
        INSERT INTO checks_evidence (digest, probe, text, truncated, stored_at)
        SELECT e.digest, e.probe, e.text, e.truncated, %(now)s::timestamptz
        FROM target t,
             json_to_recordset(%(evidence)s::json) AS e(digest varchar, probe varchar, text text, truncated boolean)
        ON CONFLICT DO NOTHING
    ), gaps AS (
        UPDATE checks_gap g SET ended_at = GREATEST(g.started_at, %(observed_at)s::timestamptz)
        FROM target t
        WHERE g.node_id = %(node)s::uuid AND g.ended_at IS NULL AND g.cadence = %(moved)s
    ), rechecks AS (
        UPDATE checks_recheckrequest q SET done_at = %(now)s::timestamptz
        FROM target t
        WHERE q.node_id = %(node)s::uuid AND q.done_at IS NULL AND q.id = ANY(%(rechecks)s::bigint[])
    ), node AS (
        UPDATE checks_node n
        SET boot_id = c.boot_id, boot_since = c.boot_since, past_boots = c.past_boots, trouble = c.trouble,
            serials = c.serials, unconfirmed_serials = c.unconfirmed_serials, agent_version = c.agent_version
        FROM target t, json_to_recordset(%(identity)s::json) AS c(
            boot_id varchar, boot_since timestamptz, past_boots jsonb, trouble varchar, serials jsonb,
            unconfirmed_serials jsonb, agent_version varchar)
        WHERE n.id = %(node)s::uuid
    ), token AS (
        UPDATE checks_token k SET last_used_at = %(now)s::timestamptz
        FROM target t
        WHERE k.id = %(token)s AND %(note_use)s
    ), readiness AS ({_READINESS}
    ), outbox AS ({_OUTBOX})
    SELECT (SELECT count(*) FROM target), (SELECT count(pg_notify('countersign_outbox', '')) FROM outbox LIMIT 1)
"""  # noqa: S608

# Without a report: what re-judging, a changed profile or a person's confirmation writes for one node.
WRITE_JUDGED = f"""
    WITH target AS (
        SELECT %(node)s::uuid AS node_id
    ), memory AS (
        DELETE FROM checks_nodememory m
        USING target t, json_to_recordset(%(gone)s::json) AS s(item varchar, subject varchar)
        WHERE m.node_id = %(node)s::uuid AND m.item = s.item AND m.subject = s.subject
    ), states AS ({_STATES}
    ), gone AS ({_GONE}
    ), flips AS ({_FLIPS}
    ), readiness AS ({_READINESS}
    ), outbox AS ({_OUTBOX})
    SELECT (SELECT count(*) FROM target), (SELECT count(pg_notify('countersign_outbox', '')) FROM outbox LIMIT 1)
"""  # noqa: S608
