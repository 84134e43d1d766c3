"""What a report costs the database: three statements, whatever it holds, and none that touches a shared row."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, connections

from tests.factories import HEALTHY_NODE, Machine, enrolled_machine, healthy_facts, make_cluster

TRANSACTION_CONTROL = re.compile(r"BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE")


@contextmanager
def wire() -> Iterator[list[str]]:
    """The statements that cross the wire, in order; transaction control is left out."""
    seen: list[str] = []
    connection.ensure_connection()
    pgconn = connection.connection.pgconn
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        with open(log.name, "wb") as sink:  # noqa: PTH123  (libpq writes to its descriptor)
            pgconn.trace(sink.fileno())
            yield seen
            pgconn.untrace()
        for line in log:
            _, side, _, kind, *rest = line.rstrip("\n").split("\t")
            if side == "F" and kind in ("Query", "Execute") and not TRANSACTION_CONTROL.search("".join(rest)):
                seen.append(kind)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("facts", [healthy_facts(), {"hung-io": HEALTHY_NODE["hung-io"]}], ids=["full", "one item"])
def test_a_report_is_three_statements_however_many_results_it_has(facts: dict[str, object]) -> None:
    machine = enrolled_machine(make_cluster())
    machine.push()
    machine.sleep()
    with wire() as seen:
        machine.push(facts=facts)

    assert len(seen) == 3


@pytest.mark.django_db(transaction=True)
def test_a_duplicate_is_two_statements() -> None:
    machine = enrolled_machine(make_cluster())
    report = machine.report()
    machine.push(report)
    with wire() as seen:
        machine.push(report)

    assert len(seen) == 2


@pytest.mark.django_db(transaction=True)
def test_a_report_updates_no_row_that_other_nodes_share() -> None:
    machine = enrolled_machine(make_cluster())
    before = _updates("checks_cluster")
    for _ in range(3):
        machine.push()
        machine.sleep()

    assert _updates("checks_cluster") == before


@pytest.mark.django_db(transaction=True)
def test_steady_reports_rewrite_their_rows_in_place() -> None:
    machines = [enrolled_machine(make_cluster(), f"gpu{place:03}") for place in range(1)]
    for _ in range(6):
        _tick(machines)
    total, hot = _updates("checks_nodeitemstate"), _updates("checks_nodeitemstate", "n_tup_hot_upd")
    for _ in range(30):
        _tick(machines)
    gained = _updates("checks_nodeitemstate") - total

    assert gained > 0
    assert (_updates("checks_nodeitemstate", "n_tup_hot_upd") - hot) / gained >= 0.95


def _tick(machines: list[Machine]) -> None:
    """One round of a healthy fleet in which only temperatures move."""
    for machine in machines:
        facts = healthy_facts()
        for place, gpu in enumerate(facts["gpu-temperature"].values()):
            gpu["temperature"] = (30 + (place + int(machine.boottime) // 300) % 9, "celsius")
        machine.push(facts=facts)
        machine.sleep()


def _updates(table: str, counter: str = "n_tup_upd") -> int:
    """Row updates of *table* so far, as PostgreSQL counts them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(f"SELECT {counter} FROM pg_stat_user_tables WHERE relname = %s", [table])  # noqa: S608
        return int(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_reading_the_history_of_an_item_scans_no_table() -> None:
    machine = enrolled_machine(make_cluster())
    machine.push()
    with connections["owner"].cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT * FROM checks_flip WHERE node_id = %s AND item = 'gpu-ecc' ORDER BY at DESC LIMIT 50",
            [machine.node.pk],
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "Seq Scan" not in plan
