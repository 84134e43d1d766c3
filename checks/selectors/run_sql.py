"""The gate's second statement where a run asks: its nodes as for any question, and all that is known of the run itself.

One statement, so that both are of one moment. What is told of the run are rows, and what they amount to is said by
`checks.domain.launch`, as it is everywhere.
"""

from typing import Final

from checks.selectors.contributors import ROUNDS
from checks.selectors.gate_sql import MISSING, MOST_ROWS, NAMED, ROW, rows_statement
from checks.selectors.prepared import Statement

# A waiver or an override speaks of single rows, and so does a restart: each must be read. With more of them than this
# the gate stays closed.
_EVERY_ROW: Final = 50_000

_AHEAD: Final = """
    run AS MATERIALIZED (SELECT * FROM checks_run WHERE slug = %(run)s AND cluster_id = %(cluster)s),
    waiver AS MATERIALIZED (
        SELECT w.id, w.layer, w.item, w.nodes, w.until FROM checks_waiver w
        WHERE w.run_id = (SELECT id FROM run) AND w.until >= %(now)s
            AND EXISTS (SELECT FROM checks_waiverapproval a WHERE a.waiver_id = w.id)
            AND NOT EXISTS (SELECT FROM checks_waiverend e WHERE e.waiver_id = w.id)
    ),
    forced AS MATERIALIZED (
        SELECT o.accepted, o.pool, o.until FROM checks_override o
        WHERE o.run_id = (SELECT id FROM run) AND o.until >= %(now)s - interval '1 day'
            AND NOT EXISTS (SELECT FROM checks_overrideend e WHERE e.override_id = o.id)
        ORDER BY o.id DESC LIMIT 1
    ),
    one_by_one AS MATERIALIZED (
        SELECT %(every)s::boolean OR EXISTS (SELECT FROM waiver) OR EXISTS (SELECT FROM forced) AS needed
    ),
    started AS MATERIALIZED (
        SELECT s.basis, s.restart_until FROM checks_runstart s
        WHERE s.run_id = (SELECT id FROM run) AND s.kind = 'start' ORDER BY s.id DESC LIMIT 1
    ),
    signed AS MATERIALIZED (
        SELECT s.id, p.layer, s.role, s.signer_id, s.manifest_id, s.round, s.signed_at, s.expires_at, s.delegation_id
        FROM checks_signoffpackage p JOIN checks_signature s ON s.package_id = p.id
        WHERE p.run_id = (SELECT id FROM run)
            AND s.round = (SELECT max(n.round) FROM checks_signature n WHERE n.package_id = p.id)
    ),
    edits AS MATERIALIZED (
        SELECT l.seq, l.what, l.target, l.at, l.who_id, l.data FROM checks_ledgerentry l
        WHERE l.who_id IN (SELECT signer_id FROM signed) AND l.cluster_id = %(cluster)s
            AND l.what = ANY(%(edits)s::text[])
    ),
    stated AS MATERIALIZED (
        SELECT a.* FROM checks_attestation a
        WHERE a.cluster_id = %(cluster)s AND a.valid_until >= %(now)s AND EXISTS (SELECT FROM signed)
    ),
"""
_MOST: Final = f"(SELECT CASE WHEN needed THEN {_EVERY_ROW} ELSE {MOST_ROWS} END FROM one_by_one)"  # noqa: S608
# A row that closes the gate by itself is told already, unless something accepts it.
_UNSETTLED: Final = f"""
    SELECT {ROW}
    FROM asked a JOIN checks_nodeitemstate s ON s.node_id = a.id AND (s.settled = '' OR s.pending <> '')
    WHERE s.severity = 'blocker' AND NOT s.shadow AND s.cadence <> 'start'
        AND (s.blocks = 0 OR (SELECT needed FROM one_by_one))
"""  # noqa: S608
_ROLE: Final = """
    EXISTS (SELECT FROM checks_membership m JOIN accounts_user u ON u.id = m.user_id AND u.is_active
        WHERE m.cluster_id = %(cluster)s AND m.role = s.role AND m.user_id = """
_SIGNATURES: Final = f"""
    SELECT json_agg(json_build_object(
        'id', s.id, 'layer', s.layer, 'role', s.role, 'signer', s.signer_id, 'digest', s.manifest_id,
        'round', s.round, 'signed_at', s.signed_at, 'expires_at', s.expires_at,
        'revoked', EXISTS (SELECT FROM checks_revocation v WHERE v.signature_id = s.id),
        'active', (SELECT u.is_active FROM accounts_user u WHERE u.id = s.signer_id),
        'holds_role', {_ROLE} s.signer_id),
        'delegated', d.id IS NOT NULL, 'delegated_from', d.starts_at, 'delegated_until', d.ends_at,
        'delegation_stands', NOT EXISTS (SELECT FROM checks_delegationend e WHERE e.delegation_id = d.id)
            AND {_ROLE} d.giver_id)
    ) ORDER BY s.id)
    FROM signed s LEFT JOIN checks_delegation d ON d.id = s.delegation_id
"""  # noqa: S608
_POOL: Final = """
    SELECT json_agg(json_build_array(
        n.id, n.hostname, COALESCE(NULLIF(n.profile, ''), %(profile)s), n.trouble, n.origin, n.retired_at IS NOT NULL,
        COALESCE(d.judged_under, ''), COALESCE(d.digests, '{}'::jsonb), d.tick_until, d.daily_until
    ) ORDER BY n.hostname)
    FROM checks_runnode p JOIN checks_node n ON n.id = p.node_id
    LEFT JOIN checks_nodereadiness d ON d.node_id = n.id
    WHERE p.run_id = r.id
"""
_SHARED: Final = """
    SELECT json_agg(json_build_object(
        'scope', s.scope, 'item', s.item, 'subject', s.subject, 'item_version', s.item_version, 'raw', s.raw,
        'settled', s.settled, 'pending', s.pending, 'identity', s.identity, 'epoch', s.epoch, 'reason', s.reason,
        'detail', s.detail, 'observed_at', s.observed_at, 'valid_until', s.valid_until
    ))
    FROM checks_scopestate s WHERE s.cluster_id = %(cluster)s AND (
        (s.scope = 'cluster' AND s.subject = '') OR (s.scope = 'dataset' AND s.subject = r.dataset)
        OR (s.scope IN ('run', 'link', 'artefact') AND s.subject = r.slug))
"""
# What a waiver accepts stands in the header once it has settled as failed.
_FAILED: Final = """
    SELECT json_agg(DISTINCT jsonb_build_array(s.item, s.node_id))
    FROM waiver w CROSS JOIN LATERAL jsonb_array_elements_text(w.nodes) AS named (id)
    JOIN checks_nodeitemstate s ON s.node_id = named.id::uuid AND s.item = w.item
    WHERE s.settled = 'fail' AND NOT s.shadow
"""
_NAMED_BY: Final = """
    SELECT s.manifest_id AS digest FROM signed s
    UNION SELECT part.held ->> 'digest' FROM started, jsonb_array_elements(started.basis) AS part (held)
"""
_MANIFESTS: Final = f"""
    SELECT json_agg(json_build_object('digest', m.digest, 'header', m.header, 'shared', m.shared, 'nodes', m.nodes))
    FROM checks_manifest m WHERE m.digest IN ({_NAMED_BY}) AND m.digest <> ALL(%(known)s::text[])
"""  # noqa: S608
_STARTED: Final = """
    SELECT json_build_object('basis', started.basis, 'restart_until', started.restart_until, 'revoked', (
        SELECT json_agg(v.signature_id) FROM checks_revocation v WHERE v.signature_id IN (
            SELECT named.id::bigint FROM jsonb_array_elements(started.basis) AS part (held),
                jsonb_array_elements_text(part.held -> 'signatures') AS named (id))))
    FROM started
"""
# Who signed, and had a hand in what was signed: by stating a result that stands in it, or by an edit since.
_STATED: Final = """
    SELECT json_agg(json_build_array(node_id, item, subject, by_id, at)) FROM (
        SELECT DISTINCT ON (node_id, item, subject) node_id, item, subject, by_id, at FROM stated
        ORDER BY node_id, item, subject, id DESC
    ) AS newest WHERE by_id IN (SELECT signer_id FROM signed)
"""
_ROUNDS: Final = f"SELECT json_agg(json_build_array(layer, roles, seq)) FROM ({ROUNDS}) AS rounds"  # noqa: S608
_POLICY: Final = """
    SELECT json_build_array(p.number, p.document)
    FROM checks_policyversion p JOIN checks_policyapproval a ON a.policy_id = p.id
    WHERE p.cluster_id = %(cluster)s ORDER BY p.number DESC LIMIT 1
"""
_COLUMNS: Final = (
    "id", "slug", "stage", "nodes_needed", "world_size", "layout", "model_name", "parameters", "bytes_per_parameter",
    "dataset", "artefacts", "planned_start", "planned_end",
)  # fmt: skip
_RUN: Final = f"""
    SELECT json_build_object(
        'columns', json_build_object({", ".join(f"'{name}', r.{name}" for name in _COLUMNS)}),
        'policy', ({_POLICY}), 'pool', ({_POOL}), 'shared', ({_SHARED}),
        'waivers', (SELECT json_agg(w) FROM waiver w), 'failed', ({_FAILED}),
        'override', (SELECT to_json(f) FROM forced f),
        'signatures', ({_SIGNATURES}), 'manifests', ({_MANIFESTS}), 'started', ({_STARTED}),
        'stated', ({_STATED}), 'stated_until', (SELECT min(valid_until) FROM stated),
        'edits', (SELECT json_agg(e ORDER BY e.seq) FROM edits e),
        'rounds', CASE WHEN EXISTS (SELECT FROM edits) THEN ({_ROUNDS}) END
    ) FROM run r
"""  # noqa: S608
_MORE: Final = f", 'unsettled', (SELECT json_agg(u) FROM ({_UNSETTLED}) AS u), 'run', ({_RUN})"  # noqa: S608
_POOL_OF_RUN: Final = "AND n.id IN (SELECT node_id FROM checks_runnode WHERE run_id = (SELECT id FROM run))"

RUN_ON_POOL: Final = Statement.of(rows_statement(_POOL_OF_RUN, "NULL", ahead=_AHEAD, most=_MOST, more=_MORE))
RUN_ON_NAMED: Final = Statement.of(rows_statement(NAMED, MISSING, ahead=_AHEAD, most=_MOST, more=_MORE))

# Behind digests that changed: the leaves that were signed, and the identity values that are known now.
CHANGED: Final = Statement.of("""
    SELECT json_build_object(
        'snapshot', pg_current_snapshot()::text,
        'leaves', (SELECT json_object_agg(b.digest, encode(b.body, 'base64')) FROM checks_manifestblob b
            WHERE b.digest = ANY(%(digests)s::text[])),
        'known', (SELECT json_agg(json_build_array(s.node_id, s.item, s.subject, s.identity))
            FROM checks_nodeitemstate s WHERE s.node_id = ANY(%(nodes)s::uuid[]) AND s.identity <> '{}'::jsonb)
    )::text
""")
POOL_NAMES: Final = Statement.of("""
    SELECT json_build_object('names', (
        SELECT json_agg(n.hostname ORDER BY n.hostname) FROM checks_runnode p
        JOIN checks_node n ON n.id = p.node_id AND n.retired_at IS NULL WHERE p.run_id = r.id))::text
    FROM checks_run r WHERE r.slug = %(run)s AND r.cluster_id = %(cluster)s
""")
