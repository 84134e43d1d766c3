"""Large clusters in little time: one node reports through the front door and is then copied in SQL.

Enrolling 4,096 nodes would take minutes. Every copy has all rows of the first: verdicts, summary, flips.
"""

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.fleet import FleetNode, Work, body_of
from checks.domain.verdicts import Cadence

PROFILE = "8xh200"
NODES_A_SWITCH = 32
FAILING = "sysctl-netdev-backlog"
PAST_REPORTS, PAST_GAP_S = 3, 200


def load_our_catalogue() -> None:
    """Once, before any node: loading judges every node again."""
    from checks.services.catalog import load_catalogue

    load_catalogue(path=Path("checks/catalog"), by=None, now=datetime.now(UTC))


def replicated_cluster(slug: str, *, size: int, failing: Sequence[str]) -> int:
    """A cluster of *size* nodes that have all just reported, with the *failing* ones failing one item; its id."""
    from checks.models import Cluster, Node, TokenKind
    from checks.selectors.rules import ruleset_for
    from checks.services.clusters import create_cluster
    from checks.services.enrolment import Enrolment, enrol_node
    from checks.services.tokens import issue_token

    now = datetime.now(UTC)
    cluster: Cluster = create_cluster(slug=slug, name=slug, profile=PROFILE, by=None, now=now)
    _, enrolling = issue_token(kind=TokenKind.ENROLMENT, cluster=cluster, now=now, created_by=None)
    first = FleetNode(ruleset_for(cluster), hostname(0), str(uuid.uuid4()))
    asked = Enrolment(first.hostname, {}, first.boot_id, "bench", "live")
    enrolled = enrol_node(bearer=enrolling, enrolment=asked, address=None, now=now)
    _report(first, enrolled.token, now)
    Node.objects.bulk_create(
        Node(cluster=cluster, hostname=hostname(number), switch=f"leaf-{number // NODES_A_SWITCH:03}", enrolled_at=now)
        for number in range(1, size)
    )
    _copy(enrolled.node.pk, cluster.pk, now)
    _fail(cluster.pk, failing, now)
    as_vacuumed()
    return cluster.pk


def hostname(number: int) -> str:
    """Of the node of that number."""
    return f"gpu{number:04}"


def _report(node: FleetNode, token: str, now: datetime) -> None:
    """The day and the last ten minutes of one node under work: what load proves, it proves."""
    from checks.api.decode import decode_report
    from checks.services.reports import record_report

    cadences = [Cadence.DAILY, *[Cadence.TICK] * PAST_REPORTS]
    for number, cadence in enumerate(cadences):
        decoded = decode_report(body_of(node.report(Work.BUSY, number, cadence=cadence)), encoding="")
        then = now - timedelta(seconds=PAST_GAP_S * (PAST_REPORTS - number))
        record_report(bearer=token, report=decoded, age_s=0.0, address=None, received_at=then)


def _copy(node_id: uuid.UUID, cluster_id: int, now: datetime) -> None:
    """Give every other node of the cluster the rows of *node_id*, good for the next hour."""
    from django.db import connection

    from checks.models import NodeItemState, NodeReadiness

    until = {"tick_until": now + timedelta(hours=1), "daily_at": now, "daily_until": now + timedelta(hours=36)}
    NodeItemState.objects.filter(node=node_id, blocks=2).update(raw="pass", reason="", blocks=0, observed_at=now)
    NodeReadiness.objects.filter(node=node_id).update(health_bad=0, health_failed=0, **until)
    with connection.cursor() as cursor:
        for statement in _copies():
            cursor.execute(statement, {"node": node_id, "cluster": cluster_id})


def _copies() -> Iterator[str]:
    """Statements that copy a node's rows to the others of its cluster."""
    from checks.models import Flip, NodeItemState, NodeReadiness

    for model in (NodeItemState, NodeReadiness, Flip):
        columns = [field.column for field in model._meta.concrete_fields if field.column not in ("id", "node_id")]
        yield f"""
            INSERT INTO {model._meta.db_table} (node_id, {", ".join(columns)})
            SELECT n.id, {", ".join(f"t.{column}" for column in columns)}
            FROM {model._meta.db_table} t, checks_node n
            WHERE t.node_id = %(node)s AND n.cluster_id = %(cluster)s AND n.id <> %(node)s
        """  # noqa: S608  (names of our own tables and columns)


def _fail(cluster_id: int, hosts: Sequence[str], now: datetime) -> None:
    from checks.models import NodeItemState, NodeReadiness

    NodeItemState.objects.filter(node__cluster=cluster_id, item=FAILING, node__hostname__in=hosts).update(
        raw="fail", reason="criterion", blocks=2, observed_at=now
    )
    NodeReadiness.objects.filter(node__cluster=cluster_id, node__hostname__in=hosts).update(
        health_bad=1, health_failed=1, start_bad=1
    )


def as_vacuumed() -> None:
    """As autovacuum would have done a minute later; only the owner of the tables may."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
