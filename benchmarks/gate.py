"""How fast the gate answers, against a bare Django view of the same server in the same run.

Each round asks, one after the other: a view that says that it lives (`/healthz`), and the gate about 64, 512 and 4,096
nodes. Targets: at 512 nodes at least 0.35 of the bare view's rate straight from SQL; at 4,096 at least half of the rate
at 64.
"""

import itertools
import statistics
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from benchmarks.load import Result, load
from benchmarks.machine import describe
from benchmarks.portal import Bench, database, served
from benchmarks.replicas import hostname, load_our_catalogue, replicated_cluster

ROUNDS = 3
SECONDS = 3
SIZES = (64, 512, 4096)
FAILING = 3  # nodes of each cluster
BARE = "bare view"


def main() -> None:
    """Run and print."""
    print(f"gate · {describe()}")
    with database() as postgres:
        load_our_catalogue()
        tokens = {size: _token_of(size) for size in SIZES}
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


def _token_of(size: int) -> str:
    """A cluster of *size* nodes with three that fail; its gate token."""
    from checks.models import Cluster, TokenKind
    from checks.services.tokens import issue_token

    cluster = replicated_cluster(f"bench-{size}", size=size, failing=[hostname(number) for number in range(FAILING)])
    bound = [Cluster.objects.get(pk=cluster)]
    return issue_token(kind=TokenKind.GATE, clusters=bound, now=datetime.now(UTC), created_by=None)[1]


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
