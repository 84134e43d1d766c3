"""How long the portal takes for a page, and how large the page is, at 512 and at 4,096 nodes.

One node reports through the front door and is then copied in SQL: enrolling 4,096 nodes would take minutes.
One in fifty fails an item, and each has its first changes of verdict within the last day, as after a long night of
enrolment. Pages are asked one after the other, by somebody who leads that one cluster. Targets, at either size: 100 ms
of CPU a page, server and database together, 100 kB uncompressed, and the board at 512 nodes within 100 ms at the 95th
percentile. CPU is what a page costs; time is what else the machine does, too, and so is only printed for the others.
"""

import http.client
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.fleet import FleetNode, Work, body_of
from benchmarks.machine import describe
from benchmarks.portal import Bench, database, served

SIZES = (512, 4096)
PROFILE = "8xh200"
NODES_A_SWITCH = 32
FAILS_EVERY = 50
FAILING = "sysctl-netdev-backlog"
ASKED, WARM_UP = 30, 4
PAST_REPORTS, PAST_GAP_S = 3, 200
MOST_BYTES, MOST_CPU_MS = 100_000, 100


@dataclass(frozen=True, slots=True)
class Case:
    """One page of the cluster of *size* nodes, and the most milliseconds it may take at the 95th percentile."""

    name: str
    size: int
    path: str
    most_ms: float | None = None


CASES = (
    Case("board", 512, "/", 100),
    Case("board", 4096, "/"),
    Case("cluster", 512, "/clusters/bench-512/"),
    Case("one switch", 512, "/clusters/bench-512/?place=leaf-003"),
    Case("cluster", 4096, "/clusters/bench-4096/"),
    Case("item", 4096, f"/clusters/bench-4096/items/{FAILING}/"),
    Case("item of eight GPUs", 4096, "/clusters/bench-4096/items/gpu-temperature/"),
    Case("node", 4096, "/clusters/bench-4096/nodes/gpu0000/"),
    Case("item of a node", 4096, f"/clusters/bench-4096/nodes/gpu0000/items/{FAILING}/"),
    Case("status", 4096, "/status"),
)


def main() -> None:
    """Run and print."""
    print(f"pages · {describe()}")
    with tempfile.TemporaryDirectory(prefix="cs-bench-static-") as static, database() as postgres:
        collect_static(static)
        load_checklist()
        for size in SIZES:
            _fleet(size)
        cookies = {size: signed_in(size) for size in SIZES}
        with served(postgres) as bench:
            for case in CASES:
                _print(case, _asked(bench, case.path, cookies[case.size]))


@dataclass(frozen=True, slots=True)
class Seen:
    """Milliseconds of each answer, milliseconds of CPU an answer (server and database), and the size of the page."""

    times: list[float]
    cpu_ms: float
    size: int


def _asked(bench: Bench, path: str, cookie: str) -> Seen:
    """Ask over one kept connection."""
    connection = http.client.HTTPConnection(urlsplit(bench.url).netloc, timeout=60)
    times, size, before = [], 0, 0.0
    for number in range(WARM_UP + ASKED):
        if number == WARM_UP:
            before = bench.server.seconds() + bench.postgres.seconds()
        started = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        size = len(answer.read())
        times.append(1000 * (time.perf_counter() - started))
        if answer.status != http.HTTPStatus.OK:
            raise SystemExit(f"{path} answers {answer.status}.")
    connection.close()
    spent = bench.server.seconds() + bench.postgres.seconds() - before
    return Seen(times[WARM_UP:], 1000 * spent / ASKED, size)


def _print(case: Case, seen: Seen) -> None:
    p95 = statistics.quantiles(seen.times, n=20)[-1]
    in_time = case.most_ms is None or p95 <= case.most_ms
    kept = "kept" if in_time and seen.cpu_ms <= MOST_CPU_MS and seen.size <= MOST_BYTES else "MISSED"
    within = f" (target {case.most_ms:.0f})" if case.most_ms else ""
    print(
        f"  {case.name}, {case.size:,} nodes: CPU {seen.cpu_ms:.0f} ms (target {MOST_CPU_MS}),"
        f" {seen.size / 1000:.0f} kB (target {MOST_BYTES / 1000:.0f}),"
        f" p50 {statistics.median(seen.times):.0f} ms, p95 {p95:.0f} ms{within}: {kept}"
    )


def collect_static(place: str) -> None:
    """Pages name their style sheets by content, so these must lie where the server looks for them."""
    from django.conf import settings
    from django.core.management import call_command

    os.environ["STATIC_ROOT"] = settings.STATIC_ROOT = place
    call_command("collectstatic", verbosity=0, interactive=False)


def load_checklist() -> None:
    """Once, before any node: loading judges every node again."""
    from checks.services.catalog import load_catalogue

    load_catalogue(path=Path("checks/catalog"), by=None, now=datetime.now(UTC))


def signed_in(size: int) -> str:
    """The cookie of somebody who leads the cluster of *size* nodes."""
    from django.conf import settings
    from django.test import Client

    from checks.models import Cluster, Role
    from checks.services.people import grant_role
    from portal.accounts.models import User

    lead, client = User.objects.create_user(username=f"lead-{size}", password=uuid.uuid4().hex), Client()
    cluster = Cluster.objects.get(slug=f"bench-{size}")
    grant_role(user=lead, cluster=cluster, role=Role.LEAD, by=None, now=datetime.now(UTC))
    client.force_login(lead)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def _fleet(size: int) -> None:
    """A cluster of *size* nodes that have all just reported."""
    from checks.models import Cluster, Node, TokenKind
    from checks.selectors.rules import ruleset_for
    from checks.services.clusters import create_cluster
    from checks.services.enrolment import Enrolment, enrol_node
    from checks.services.tokens import issue_token

    now = datetime.now(UTC)
    cluster: Cluster = create_cluster(slug=f"bench-{size}", name=str(size), profile=PROFILE, by=None, now=now)
    _, enrolling = issue_token(kind=TokenKind.ENROLMENT, cluster=cluster, now=now, created_by=None)
    first = FleetNode(ruleset_for(cluster), "gpu0000", str(uuid.uuid4()))
    asked = Enrolment(first.hostname, {}, first.boot_id, "bench", "live")
    enrolled = enrol_node(bearer=enrolling, enrolment=asked, address=None, now=now)
    _reports(first, enrolled.token, now)
    Node.objects.bulk_create(
        Node(cluster=cluster, hostname=f"gpu{number:04}", switch=f"leaf-{number // NODES_A_SWITCH:03}", enrolled_at=now)
        for number in range(1, size)
    )
    _copy(enrolled.node.pk, cluster.pk, now)


def _reports(node: FleetNode, token: str, now: datetime) -> None:
    """The last ten minutes of one node under work: what load proves, it proves."""
    from checks.api.decode import decode_report
    from checks.services.reports import record_report

    for number in range(PAST_REPORTS):
        decoded = decode_report(body_of(node.report(Work.BUSY, number)), encoding="")
        then = now - timedelta(seconds=PAST_GAP_S * (PAST_REPORTS - 1 - number))
        record_report(bearer=token, report=decoded, age_s=0.0, address=None, received_at=then)


def _copy(node_id: uuid.UUID, cluster_id: int, now: datetime) -> None:
    """Give every other node of the cluster the rows of *node_id*, and make one in fifty fail."""
    from django.db import connection

    from checks.models import NodeItemState, NodeReadiness

    until = {"tick_until": now + timedelta(hours=1), "daily_at": now, "daily_until": now + timedelta(hours=36)}
    NodeItemState.objects.filter(node=node_id, blocks=2).update(raw="pass", reason="", blocks=0, observed_at=now)
    NodeReadiness.objects.filter(node=node_id).update(health_bad=0, health_failed=0, **until)
    with connection.cursor() as cursor:
        for statement in _copies():
            cursor.execute(statement, {"node": node_id, "cluster": cluster_id})
    failing = NodeItemState.objects.filter(node__cluster=cluster_id, item=FAILING)
    hosts = [f"gpu{number:04}" for number in range(0, max(SIZES), FAILS_EVERY)]
    failing.filter(node__hostname__in=hosts).update(raw="fail", reason="criterion", blocks=2, observed_at=now)
    NodeReadiness.objects.filter(node__cluster=cluster_id, node__hostname__in=hosts).update(
        health_bad=1, health_failed=1, start_bad=1
    )
    analyze()


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


def analyze() -> None:
    """As autovacuum would have done a minute later; only the owner of the tables may."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE")


if __name__ == "__main__":
    main()
