"""How long lists and searches of incidents take when there are 100,000 of them.

Incidents are written in bulk, with the words that they are found by worked out as the services do it; half of them are
told in Chinese. Each case is asked over one kept connection, by somebody who leads the cluster; a search is given other
words each time. Target: 300 ms at the 95th percentile.
"""

import http.client
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from random import Random
from urllib.parse import quote, urlsplit

from benchmarks.machine import describe
from benchmarks.pages import analyze, collect_static, load_checklist, signed_in
from benchmarks.portal import Bench, database, served
from benchmarks.results import Figure, show

INCIDENTS, NODES, CLUSTER = 100_000, 512, 512
ASKED, WARM_UP, MOST_MS = 60, 4, 300
LATIN = ("rank", "hangs", "all-reduce", "nvlink", "half", "rate", "xid", "ecc", "checkpoint", "torn", "loss", "spike")
CHINESE = ("吞吐量下降", "损失发散", "检查点残缺", "链路降速", "显存错误", "作业挂起", "交换机丢包", "磁盘写满")
CASES = {
    "list": lambda number: "/incidents/",
    "list, an older page": lambda number: f"/incidents/?before={50_000 - 50 * number}",
    "filter": lambda number: "/incidents/?component=nvlink&standing=closed",
    "search, a common word": lambda number: f"/incidents/?q={LATIN[number % len(LATIN)]}",
    "search, two words and a node": lambda number: f"/incidents/?q=nvlink+xid+gpu{number:04}",
    "search, an identifier": lambda number: f"/incidents/?q=INC-{1000 + 37 * number}",
    "search, Chinese": lambda number: f"/incidents/?q={quote(CHINESE[number % len(CHINESE)][1:4])}",
    "search, nothing found": lambda number: f"/incidents/?q=unheard{number}",
}  # fmt: skip


def main() -> None:
    """Run and print."""
    print(f"incidents · {describe()}")
    with tempfile.TemporaryDirectory(prefix="cs-bench-static-") as static, database() as postgres:
        collect_static(static)
        load_checklist()
        _fill()
        cookie = signed_in(CLUSTER)
        with served(postgres) as bench:
            figures = [figure for name in CASES for figure in _figures(bench, name, cookie)]
            figures += [_one(bench, name, path, cookie) for name, path in _PAGES.items()]
    show("incidents", figures)


# Worked out over all incidents at once, and asked for rarely: told, without a target.
_PAGES = {"blind spots": "/incidents/blind-spots/", "lemons": "/incidents/lemons/"}


def _figures(bench: Bench, name: str, cookie: str) -> list[Figure]:
    """Time is what else the machine does, too; CPU, of server and database together, is what an answer costs."""
    paths = [CASES[name](number) for number in range(WARM_UP + ASKED)]
    _times(bench, paths[:WARM_UP], cookie)
    before = bench.server.seconds() + bench.postgres.seconds()
    times = _times(bench, paths[WARM_UP:], cookie)
    spent = bench.server.seconds() + bench.postgres.seconds() - before
    return [
        Figure(f"{name}, p95", statistics.quantiles(times, n=20)[-1], "ms", most=MOST_MS),
        Figure(f"{name}, CPU", 1000 * spent / ASKED, "ms"),
    ]


def _one(bench: Bench, name: str, path: str, cookie: str) -> Figure:
    return Figure(f"{name}, p50", statistics.median(_times(bench, [path] * 10, cookie)), "ms")


def _times(bench: Bench, paths: list[str], cookie: str) -> list[float]:
    """Milliseconds of each answer."""
    connection, times = http.client.HTTPConnection(urlsplit(bench.url).netloc, timeout=60), []
    for path in paths:
        started = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        times.append(1000 * (time.perf_counter() - started))
        if answer.status != http.HTTPStatus.OK:
            raise SystemExit(f"{path} answers {answer.status}.")
    connection.close()
    return times


def _fill() -> None:
    """A cluster of 512 nodes, to which 100,000 things happened in four years; each eighth is linked to an item."""
    from django.db import transaction

    from checks.domain.incidents.kinds import Component, Relation, Weight
    from checks.domain.incidents.search import terms_of
    from checks.models import Cluster, Incident, IncidentItemLink, IncidentNode, Node
    from checks.services.clusters import create_cluster

    now, random = datetime.now(UTC), Random(31)
    cluster: Cluster = create_cluster(slug=f"bench-{CLUSTER}", name="Bench", profile="8xh200", by=None, now=now)
    nodes = Node.objects.bulk_create(
        Node(cluster=cluster, hostname=f"gpu{number:04}", serials={"system": f"SRV-{number:05}"},
             enrolled_at=now - timedelta(days=1500))
        for number in range(NODES)
    )  # fmt: skip
    for start in range(0, INCIDENTS, 5000):
        rows = []
        for number in range(start, start + 5000):
            node, began = random.choice(nodes), now - timedelta(minutes=20 * (INCIDENTS - number))
            title = random.choice(CHINESE) if number % 2 else " ".join(random.sample(LATIN, 4))
            rows.append(Incident(
                cluster=cluster, title=title, summary=title, weight=random.choice([*Weight]),
                component=random.choice([*Component]), error_class="xid-79", started_at=began, detected_at=began,
                stable_at=began + timedelta(hours=1), closed_at=began + timedelta(hours=30), standing="closed",
                gpus_affected=8, source="flip", opened_at=began,
                terms=terms_of(f"INC-{number + 1:04}", title, "xid-79", node.hostname, node.serials["system"]),
            ))  # fmt: skip
        with transaction.atomic():
            made = Incident.objects.bulk_create(rows)
            touched = [random.choice(nodes) for _ in made]
            IncidentNode.objects.bulk_create(
                IncidentNode(incident=one, node=node, hostname=node.hostname, machine_serial=node.serials["system"])
                for one, node in zip(made, touched, strict=True)
            )
            IncidentItemLink.objects.bulk_create(
                IncidentItemLink(incident=one, item="gpu-xid", relation=Relation.CAUGHT.value, at=now)
                for one in made[::8]
            )
    analyze()


if __name__ == "__main__":
    main()
