"""How fast a report is stored and judged, against the same SQL from bare psycopg in the same run.

Each round runs, one after the other: reports over HTTP (16 connections, a fresh one a report, as cron agents do), and
the very statements of such reports, recorded beforehand, on one bare psycopg connection. The bound is CPU a report,
server and database together: it moves least on a noisy machine. 4 % of the reports flip a verdict and back.

Three fleets: small nodes under work, large nodes that idle (only temperatures move), and large nodes under work, where
two in five results bring another value each time. All have worked for half an hour before: verdicts have settled, and
what is proved under load is proved.
"""

import gzip
import itertools
import statistics
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import psycopg

from benchmarks.cpu import own_seconds
from benchmarks.fleet import FleetNode, Work, body_of, results_in
from benchmarks.load import load
from benchmarks.machine import describe
from benchmarks.portal import Bench, database, served
from benchmarks.results import Figure, show

ROUNDS = 3
SECONDS = 4
NODES = 64
REPORTS_A_NODE = 40  # a round's supply: more than any machine of this size stores in SECONDS
BARE_REPORTS = 300
WARM_UP = 50
PAST_REPORTS, PAST_GAP_S = 6, 400
LEAST_PER_SECOND, LEAST_PER_SECOND_FEW, MANY_RESULTS = 333, 450, 80
CASES = (("2xh200-virtual", Work.BUSY), ("8xh200", Work.IDLE), ("8xh200", Work.BUSY))

#: One statement with its parameters in order.
Executed: TypeAlias = tuple[str, list[Any]]

SCRIPT = """
local supply, at = {}, 0
function init(args)
  for line in io.lines("%(index)s") do
    local token, start, length = line:match("(%%S+) (%%d+) (%%d+)")
    supply[#supply + 1] = {token = token, start = tonumber(start), length = tonumber(length)}
  end
  bodies = io.open("%(bodies)s", "rb")
end
function request()
  at = at + 1
  local one = supply[at]
  if one == nil then wrk.thread:stop(); one = supply[#supply] end
  bodies:seek("set", one.start)
  return wrk.format("POST", "/api/v1/reports", {
    ["Authorization"] = "Bearer " .. one.token, ["Content-Type"] = "application/json", ["Content-Encoding"] = "gzip",
    ["Report-Age"] = "0", ["Connection"] = "close"}, bodies:read(one.length))
end
"""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of one fleet: reports a second over HTTP, and CPU milliseconds a report of both cases."""

    per_second: float
    p99_ms: float
    errors: int
    http_ms: float
    bare_ms: float

    @property
    def ratio(self) -> float:
        return self.http_ms / self.bare_ms


def main() -> None:
    """Run and print."""
    print(f"ingest · {describe()}")
    with database() as postgres:
        fleets = [Fleet.of(*case) for case in CASES]
        with served(postgres) as bench:
            rounds: list[list[Round]] = [[] for _ in fleets]
            for number in range(ROUNDS + 1):
                if number == 1:
                    before = _updates()  # what nobody had measured has grown into its values by now
                for fleet, seen in zip(fleets, rounds, strict=True):
                    seen.append(_round(bench, fleet))
            after = _updates()
    for fleet, seen in zip(fleets, rounds, strict=True):
        _print(fleet, seen[1:])  # the first round of each warms up
    updated, hot, moved = (then - now for now, then in zip(before, after, strict=True))
    show(
        "ingest",
        [
            Figure("updates of the latest verdicts that were HOT", hot / updated, "", least=0.95),
            Figure("updates of the latest verdicts whose page was full", moved / updated, ""),
        ],
    )


def _updates() -> tuple[int, int, int]:
    """Updates of the latest verdicts so far; those of them that were HOT, and those that had to go to another page."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT n_tup_upd, n_tup_hot_upd, n_tup_newpage_upd FROM pg_stat_user_tables"
            " WHERE relname = 'checks_nodeitemstate'"
        )
        updated, hot, moved = cursor.fetchone()
    return int(updated), int(hot), int(moved)


class Fleet:
    """Nodes that have enrolled, with reports that nobody has sent yet."""

    def __init__(self, profile: str, work: Work, nodes: list[FleetNode], tokens: list[str]) -> None:
        self.name = f"{profile}, {work.value}"
        self.results = results_in(nodes[0].rules)
        self._supply = itertools.cycle(
            [(token, node.reports(work, first=PAST_REPORTS)) for token, node in zip(tokens, nodes, strict=True)]
        )

    @classmethod
    def of(cls, profile: str, work: Work) -> "Fleet":
        """A cluster of ``NODES`` nodes of *profile*."""
        from checks.models import TokenKind
        from checks.selectors.rules import ruleset_for
        from checks.services.catalog import load_catalogue
        from checks.services.clusters import create_cluster
        from checks.services.enrolment import Enrolment, enrol_node
        from checks.services.tokens import issue_token

        now = datetime.now(UTC)
        load_catalogue(path=Path("checks/catalog"), by=None, now=now)
        slug = f"bench-{profile}-{work.value}"
        cluster = create_cluster(slug=slug, name=slug, profile=profile, by=None, now=now)
        _, enrolling = issue_token(kind=TokenKind.ENROLMENT, cluster=cluster, now=now, created_by=None)
        nodes, tokens = [], []
        for number in range(NODES):
            node = FleetNode(ruleset_for(cluster), f"gpu{number:03}", str(uuid.uuid4()))
            asked = Enrolment(node.hostname, {}, node.boot_id, "bench", "live")
            tokens.append(enrol_node(bearer=enrolling, enrolment=asked, address=None, now=now).token)
            nodes.append(node)
            _work_in_the_past(node, tokens[-1], now)
        return cls(profile, work, nodes, tokens)

    def next(self, count: int) -> Iterator[tuple[str, dict[str, object]]]:
        """The next *count* reports, round the fleet, with their tokens."""
        for token, reports in itertools.islice(self._supply, count):
            yield token, next(reports)


def _work_in_the_past(node: FleetNode, token: str, now: datetime) -> None:
    """The node's reports of the last half hour."""
    from checks.api.decode import decode_report
    from checks.services.reports import record_report

    for number in range(PAST_REPORTS):
        decoded = decode_report(body_of(node.report(Work.BUSY, number)), encoding="")
        then = now - timedelta(seconds=PAST_GAP_S * (PAST_REPORTS - number))
        record_report(bearer=token, report=decoded, age_s=0.0, address=None, received_at=then)


def _round(bench: Bench, fleet: Fleet) -> Round:
    script = _supply(bench.place, fleet)
    server, postgres = bench.server.seconds(), bench.postgres.seconds()
    result = load(f"{bench.url}/api/v1/reports", connections=16, seconds=SECONDS, script=script)
    http = bench.server.seconds() - server + bench.postgres.seconds() - postgres
    bare = _bare(bench, _recorded(fleet))
    return Round(result.per_second, result.p99_ms, result.errors, 1000 * http / result.requests, 1000 * bare)


def _supply(place: Path, fleet: Fleet) -> Path:
    """Bodies and their index for wrk, and the script that reads them."""
    index, bodies, script = place / "index", place / "bodies", place / "ingest.lua"
    start = 0
    with index.open("w") as lines, bodies.open("wb") as file:
        for token, report in fleet.next(NODES * REPORTS_A_NODE):
            body = gzip.compress(body_of(report), 1)
            file.write(body)
            lines.write(f"{token} {start} {len(body)}\n")
            start += len(body)
    script.write_text(SCRIPT % {"index": index, "bodies": bodies})
    return script


def _recorded(fleet: Fleet) -> list[list[Executed]]:
    """The statements of the next reports, by running them in a transaction that is rolled back."""
    from django.db import transaction

    from checks.api.decode import decode_report
    from checks.services.reports import record_report

    recorded: list[list[Executed]] = []
    with _listening() as statements, transaction.atomic():
        for token, report in fleet.next(BARE_REPORTS):
            decoded = decode_report(body_of(report), encoding="")
            record_report(bearer=token, report=decoded, age_s=0.0, address=None, received_at=datetime.now(UTC))
            recorded.append(list(statements))
            statements.clear()
        transaction.set_rollback(True)
    return recorded


@contextmanager
def _listening() -> Iterator[list[Executed]]:
    """Note the statements that ingest runs, while they run."""
    from checks.services import node_store

    statements: list[Executed] = []
    fetch_row = node_store.fetch_row

    def listen(statement: Any, parameters: Any) -> Any:
        statements.append((statement.text, [parameters[name] for name in statement.names]))
        return fetch_row(statement, parameters)

    node_store.fetch_row = listen
    try:
        yield statements
    finally:
        node_store.fetch_row = fetch_row


def _bare(bench: Bench, recorded: Sequence[Sequence[Executed]]) -> float:
    """CPU seconds a report: this process and PostgreSQL, sending nothing but the recorded statements."""
    with psycopg.connect(bench.database_url) as connection, psycopg.RawCursor(connection) as cursor:
        for statements in recorded[:WARM_UP]:
            _replay(cursor, statements)
        mine, postgres = own_seconds(), bench.postgres.seconds()
        for statements in recorded[WARM_UP:]:
            _replay(cursor, statements)
        spent = own_seconds() - mine + bench.postgres.seconds() - postgres
    return spent / (len(recorded) - WARM_UP)


def _replay(cursor: psycopg.RawCursor[Any], statements: Sequence[Executed]) -> None:
    for statement, parameters in statements:
        cursor.execute(statement, parameters, prepare=True)  # type: ignore[call-overload]
        cursor.fetchone()
    cursor.connection.commit()


def _print(fleet: Fleet, rounds: Sequence[Round]) -> None:
    def middle(name: str) -> float:
        return statistics.median(getattr(one, name) for one in rounds)

    print(
        f"  {fleet.name}: {fleet.results} results a report, p99 {middle('p99_ms'):.0f} ms, "
        f"errors {sum(one.errors for one in rounds)}, CPU {middle('http_ms'):.2f} ms a report, "
        f"bare SQL {middle('bare_ms'):.2f} ms"
    )
    least = LEAST_PER_SECOND if fleet.results >= MANY_RESULTS else LEAST_PER_SECOND_FEW
    show(
        "ingest",
        [
            Figure(f"{fleet.name}, CPU over HTTP / bare SQL", middle("ratio"), "", most=2.0),
            Figure(f"{fleet.name}, {fleet.results} results", middle("per_second"), "reports/s", least=least),
        ],
    )


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"  took {time.monotonic() - started:.0f} s")
