"""How fast the gate answers, against a bare Django view of the same server in the same run.

Each round asks, one after the other: a view that says that it lives (`/healthz`), and the gate about 64, 512 and 4,096
nodes, and whether a signed run may start on 512. Targets: at 512 nodes at least 0.35 of the bare view's rate straight
from SQL; at 4,096 at least half of the rate at 64. A run's question has no target yet: what it costs where nothing is
remembered is printed beside it.
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
from benchmarks.results import Figure, show
from benchmarks.signed_run import SLUG, signed_run

ROUNDS = 3
SECONDS = 3
SIZES = (64, 512, 4096)
FAILING = 3  # nodes of each cluster
BARE = "bare view"
RUN = "start of a signed run of 512"
COLD = 40  # questions asked without the process's memory


def main() -> None:
    """Run and print."""
    print(f"gate · {describe()}")
    with database() as postgres:
        load_our_catalogue()
        tokens: dict[object, str] = {size: _token_of(size) for size in SIZES}
        tokens[RUN] = _bound_to(signed_run(size=512, now=datetime.now(UTC)))
        cold_ms = _cold_ms(tokens[RUN])
        with served(postgres) as bench:
            cases = [BARE, *SIZES, RUN]
            seen: dict[object, list[Result]] = {case: [] for case in cases}
            spent: dict[object, list[float]] = {case: [] for case in cases}
            for _, case in itertools.product(range(ROUNDS + 1), cases):
                before = bench.server.seconds() + bench.postgres.seconds()
                result = _ask(bench, case, tokens)
                after = bench.server.seconds() + bench.postgres.seconds()
                seen[case].append(result)
                spent[case].append(1000 * (after - before) / result.requests)
    print(f"  {RUN}, nothing remembered: {cold_ms:.1f} ms in the process")
    _print({case: results[1:] for case, results in seen.items()}, {case: ms[1:] for case, ms in spent.items()})


def _ask(bench: Bench, case: object, tokens: Mapping[object, str]) -> Result:
    if case == BARE:
        return load(f"{bench.url}/healthz", connections=16, seconds=SECONDS)
    path = f"runs/{SLUG}" if case == RUN else f"clusters/bench-{case}"
    url = f"{bench.url}/api/v1/{path}/readiness"
    return load(url, connections=16, seconds=SECONDS, headers=(f"Authorization: Bearer {tokens[case]}",))


def _token_of(size: int) -> str:
    """A cluster of *size* nodes with three that fail; its gate token."""
    cluster = replicated_cluster(f"bench-{size}", size=size, failing=[hostname(number) for number in range(FAILING)])
    return _bound_to(cluster)


def _bound_to(cluster: int) -> str:
    """A gate token of that cluster."""
    from checks.models import Cluster, TokenKind
    from checks.services.tokens import issue_token

    bound = [Cluster.objects.get(pk=cluster)]
    return issue_token(kind=TokenKind.GATE, clusters=bound, now=datetime.now(UTC), created_by=None)[1]


def _cold_ms(token: str) -> float:
    """What one question of the run costs that no memory answers: token, statement, decision; median, wall time."""
    from checks.selectors import gate_context, readiness
    from checks.selectors.gate_memory import Memory

    key, spent = token.split("_")[2], []
    for _ in range(COLD):
        readiness._memory, gate_context._memory = Memory(), Memory()
        now, began = datetime.now(UTC), time.perf_counter()
        found = gate_context.context_of_token(key=key, run=SLUG, now=now)
        assert found is not None  # noqa: S101
        assert found[1] is not None  # noqa: S101
        answer = readiness.answer_in(found[1], nodes=None, purpose=None, run=SLUG, now=now)
        spent.append(1000 * (time.perf_counter() - began))
        assert answer.ready, answer.reasons[:3]  # noqa: S101
    return statistics.median(spent)


def _print(seen: Mapping[object, list[Result]], spent: Mapping[object, list[float]]) -> None:
    def ratio(case: object, against: object) -> float:
        pairs = zip(seen[case], seen[against], strict=True)
        return statistics.median(one.per_second / other.per_second for one, other in pairs)

    for case, results in seen.items():
        rate = statistics.median(result.per_second for result in results)
        p99 = statistics.median(result.p99_ms for result in results)
        errors = sum(result.errors for result in results)
        name = case if case in (BARE, RUN) else f"{case} nodes"
        cpu = statistics.median(spent[case])
        print(
            f"  {name}: {rate:.0f} answers/s, p99 {p99:.1f} ms, CPU {cpu:.2f} ms, errors {errors}"
            + ("" if case == BARE else f", {ratio(case, BARE):.2f} of the bare view")
        )
    p99 = statistics.median(result.p99_ms for result in seen[512])
    show(
        "gate",
        [
            Figure("512 nodes, answers/s of the bare view's", ratio(512, BARE), "", least=0.35),
            Figure("512 nodes, CPU of the bare view / CPU", _cpu_ratio(spent, 512), "", least=0.35),
            Figure("512 nodes, p99 at 16 connections", p99, "ms", most=20),
            Figure("4,096 nodes, answers/s of those at 64", ratio(4096, 64), "", least=0.5),
        ],
    )


def _cpu_ratio(spent: Mapping[object, list[float]], case: object) -> float:
    return statistics.median(bare / asked for bare, asked in zip(spent[BARE], spent[case], strict=True))


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"  took {time.monotonic() - started:.0f} s")
