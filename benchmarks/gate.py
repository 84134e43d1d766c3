"""How fast the gate answers, against a bare Django view of the same server in the same run.

Each round asks, one after the other: a view that says that it lives (`/healthz`), and the gate about 64, 512 and 4,096
nodes. Targets: at 512 nodes at least 0.35 of the bare view's rate straight from SQL; at 4,096 at least half of the rate
at 64.
"""

import itertools
import statistics
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.load import Result, load
from benchmarks.machine import describe
from benchmarks.portal import Bench, database, served

ROUNDS = 3
SECONDS = 3
SIZES = (64, 512, 4096)
BARE = "bare view"


def main() -> None:
    """Run and print."""
    print(f"gate · {describe()}")
    with database() as postgres:
        _load_catalogue()
        tokens = {size: _fleet(size) for size in SIZES}
        with served(postgres) as bench:
            cases = [BARE, *SIZES]
            seen: dict[object, list[Result]] = {case: [] for case in cases}
            spent: dict[object, list[float]] = {case: [] for case in cases}
            for _, case in itertools.product(range(ROUNDS + 1), cases):
                before = bench.server.seconds() + bench.postgres.seconds()
                result = _ask(bench, case, tokens)
                after = bench.server.seconds() + bench.postgres.seconds()
                seen[case].append(result)
                spent[case].append(1000 * (after - before) / result.requests)
    _print({case: results[1:] for case, results in seen.items()}, {case: ms[1:] for case, ms in spent.items()})


def _ask(bench: Bench, case: object, tokens: Mapping[int, str]) -> Result:
    if case == BARE:
        return load(f"{bench.url}/healthz", connections=16, seconds=SECONDS)
    url = f"{bench.url}/api/v1/clusters/bench-{case}/readiness"
    return load(url, connections=16, seconds=SECONDS, headers=(f"Authorization: Bearer {tokens[int(str(case))]}",))


def _load_catalogue() -> None:
    """Once, before any node: loading judges every node again, and these have no measurements to judge."""
    from checks.services.catalog import load_catalogue

    load_catalogue(path=Path("checks/catalog"), by=None, now=datetime.now(UTC))


def _fleet(size: int) -> str:
    """A cluster of *size* nodes that have all just reported, three of them with something bad; its gate token."""
    from checks.models import TokenKind
    from checks.services.clusters import create_cluster
    from checks.services.tokens import issue_token

    now = datetime.now(UTC)
    cluster = create_cluster(slug=f"bench-{size}", name=str(size), profile="8xh200", by=None, now=now)
    _, token = issue_token(kind=TokenKind.GATE, clusters=[cluster], now=now, created_by=None)
    _rows(cluster.pk, size, now)
    return token


def _rows(cluster_id: int, size: int, now: datetime) -> None:
    """Summaries as ingest leaves them; written directly, since enrolling 4,096 nodes would take minutes."""
    from checks.models import Cluster, Node, NodeItemState, NodeReadiness
    from checks.selectors.rules import ruleset_for

    cluster = Cluster.objects.get(pk=cluster_id)
    rules = ruleset_for(cluster)
    nodes = Node.objects.bulk_create(
        Node(cluster=cluster, hostname=f"gpu{number:04}", enrolled_at=now) for number in range(size)
    )
    NodeReadiness.objects.bulk_create(
        NodeReadiness(
            node=node, cluster=cluster, tick_at=now, tick_until=now + timedelta(hours=1), daily_at=now,
            daily_until=now + timedelta(hours=36), tick_expected=56, daily_expected=8, health_pass_physical=40,
            health_pass_system=12, health_bad=int(number < 3), health_failed=int(number < 3),
            start_bad=int(number < 3), judged_under=rules.judged_under, last_report_at=now, last_observed_at=now,
        )
        for number, node in enumerate(nodes)
    )  # fmt: skip
    item = rules.items["sysctl-netdev-backlog"]
    NodeItemState.objects.bulk_create(
        NodeItemState(
            node=node, item=item.key, subject="", layer=item.layer, scope=item.scope, cadence=item.cadence,
            severity=item.severity, raw="fail", reason="criterion", since=now, observed_at=now,
            item_version=item.version, blocks=2, value={"facts": {"live": 1000}},
        )
        for node in nodes[:3]
    )  # fmt: skip


def _print(seen: Mapping[object, list[Result]], spent: Mapping[object, list[float]]) -> None:
    def ratio(case: object, against: object) -> float:
        pairs = zip(seen[case], seen[against], strict=True)
        return statistics.median(one.per_second / other.per_second for one, other in pairs)

    for case, results in seen.items():
        rate = statistics.median(result.per_second for result in results)
        p99 = statistics.median(result.p99_ms for result in results)
        errors = sum(result.errors for result in results)
        name = case if case == BARE else f"{case} nodes"
        cpu = statistics.median(spent[case])
        print(
            f"  {name}: {rate:.0f} answers/s, p99 {p99:.1f} ms, CPU {cpu:.2f} ms, errors {errors}"
            + ("" if case == BARE else f", {ratio(case, BARE):.2f} of the bare view")
        )
    print(f"  512 nodes / bare view {ratio(512, BARE):.2f} (target >= 0.35)")
    print(f"  4,096 nodes / 64 nodes {ratio(4096, 64):.2f} (target >= 0.5)")


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"  took {time.monotonic() - started:.0f} s")
