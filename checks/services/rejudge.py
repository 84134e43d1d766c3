"""Judge nodes again when the rules changed: one node's lock at a time, from stored values, without a report."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Verdict
from checks.models import Cluster, Node
from checks.selectors.rules import rules_in_force
from checks.services.judging import judge_again
from checks.services.node_rows import Known, RowKey, StateRow, flip_between
from checks.services.node_store import Judged, LockedNode, OutboxRow, load_all, lock_node, write_judged
from checks.services.scope_rows import rejudge_scope
from checks.services.summary import summarise


def rejudge_cluster(*, cluster: Cluster, now: datetime) -> int:
    """Judge *cluster* by the rules in force; returns how many nodes. A node of its own transaction each."""
    with transaction.atomic():
        rejudge_scope(cluster=cluster, now=now)
    nodes = Node.objects.filter(cluster=cluster, retired_at=None).order_by("pk").values_list("pk", flat=True)
    return sum(rejudge_node(node_id=node_id, now=now) for node_id in list(nodes))


def rejudge_outdated(*, now: datetime) -> int:
    """Judge the nodes that were left under old rules, by a process that died halfway; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(_OUTDATED)
        left = [node_id for (node_id,) in cursor.fetchall()]
    return sum(rejudge_node(node_id=node_id, now=now) for node_id in left)


_OUTDATED = """
    SELECT n.id
    FROM checks_node n
    JOIN checks_cluster c ON c.id = n.cluster_id AND c.closed_at IS NULL
    JOIN checks_nodereadiness r ON r.node_id = n.id
    WHERE n.retired_at IS NULL
      AND r.judged_under IS DISTINCT FROM c.judged_under ->> COALESCE(NULLIF(n.profile, ''), c.profile)
    ORDER BY n.id
"""


@transaction.atomic
def rejudge_node(*, node_id: UUID, now: datetime, cause: str = "rejudge") -> bool:
    """Judge one node again under its lock; False when it is gone.

    Repeats step two only: memory, times of measurement and counts stay, verdicts settle at once. What the new rules
    need and step one did not keep is *unknown: not measured under this version*.
    """
    node = lock_node(node_id)
    if node is None:
        return False
    _judge(node, cause, now)
    return True


def _judge(node: LockedNode, cause: str, now: datetime) -> None:
    known = load_all(node)
    ruleset = rules_in_force(known.judged_under, cluster_id=node.cluster_id, profile=node.profile)
    rows = {row.key: row for row in known.states}
    after, gone = judge_again(rows, ruleset, retired=node.retired_subjects, now=now)
    _write(node, known, after, ruleset, cause=cause, gone=gone, now=now)


def write_rejudged(
    node: LockedNode, known: Known, changed: Mapping[RowKey, StateRow], ruleset: Ruleset, *, now: datetime
) -> None:
    """Store rows of the locked *node* that judging again has *changed*, with their flips and the node's summary."""
    _write(node, known, {**{row.key: row for row in known.states}, **changed}, ruleset, now=now)


def _write(
    node: LockedNode, known: Known, after: Mapping[RowKey, StateRow], ruleset: Ruleset, *, now: datetime,
    cause: str = "rejudge", gone: Sequence[RowKey] = (),
) -> None:  # fmt: skip
    """*after* are all rows of the node."""
    rows = {row.key: row for row in known.states}
    changed = {key: row for key, row in after.items() if rows.get(key) is not row}
    found = (flip_between(rows[key], row, cause=cause) for key, row in changed.items() if key in rows)
    flips = [flip for flip in found if flip is not None]
    fails = any(flip.raw == Verdict.FAIL != flip.raw_before for flip in flips)
    write_judged(
        node_id=node.node_id,
        cluster_id=node.cluster_id,
        judged=Judged(list(changed.values()), flips, [*gone]),
        readiness=summarise(after.values(), ruleset, before=known.readiness),
        outbox=[OutboxRow("checks.watch_breakers", [])] if fails else [],
        now=now,
    )
