"""What may happen at the same moment, on connections of its own, as the role ``app`` that serves.

Each docstring names the line whose deletion turns the test red.
"""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import psycopg
import pytest
from django.db import connection, transaction

from checks.domain.errors import CountersignError
from checks.models import Gap, Node, Report
from checks.selectors.rules import ruleset_for
from checks.services.clusters import refresh_rules
from checks.services.enrolment import Enrolment, enrol_node
from checks.services.evidence import digest_of
from checks.services.ingest_sql import LOCK
from checks.services.node_store import Judged, load_for_report, lock_by_token, write_report
from checks.services.report_v1 import ReportV1
from checks.services.reports import record_report
from tests.factories import NOON, Machine, enrolled_machine, enrolment_token, healthy_facts, make_cluster

pytestmark = pytest.mark.django_db(transaction=True)

Connect = Callable[[str], psycopg.Connection]
PATIENCE_S = 10


class Background:
    """One call in a thread with a database connection of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._result: Any = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._call()
        except CountersignError as refusal:
            self._result = refusal
        finally:
            connection.close()

    def result(self) -> Any:
        """What the call returned, or the refusal that it raised."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the call never ended"
        return self._result


def calls_waiting(number: int) -> bool:
    """Whether *number* calls come to wait for a lock at the same time."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0] >= number:
                return True
    return False


def push(machine: Machine, report: dict[str, Any], at: timedelta) -> Background:
    sent, received_at = msgspec.convert(report, ReportV1), NOON + at
    return Background(
        lambda: record_report(bearer=machine.token, report=sent, age_s=0, address=None, received_at=received_at)
    )


def test_two_reports_of_one_node_queue_up_and_both_count(connect_as: Connect) -> None:
    """``FOR NO KEY UPDATE OF n`` in ``ingest_sql.LOCK``: without it the second judges from what the first replaced."""
    machine = enrolled_machine(make_cluster())
    machine.push()
    held = connect_as("app")
    held.execute("SELECT FROM checks_nodeitemstate WHERE item = 'hung-io' FOR UPDATE")
    facts = healthy_facts()
    facts["hung-io"][""]["longest_wait"] = (91.0, "seconds")
    machine.sleep()
    first = push(machine, machine.report(facts), timedelta(minutes=5))
    assert calls_waiting(1)
    machine.sleep()
    second = push(machine, machine.report(facts), timedelta(minutes=10))
    assert calls_waiting(2)
    held.rollback()
    first.result(), second.result()

    assert machine.state("hung-io").settle_count == 2


def test_a_report_that_lost_the_race_against_its_copy_writes_nothing() -> None:
    """``ON CONFLICT DO NOTHING`` of the receipt in ``ingest_sql.WRITE``: without it the copy is an error."""
    machine = enrolled_machine(make_cluster())
    sent = msgspec.convert(machine.report(), ReportV1)
    machine.push(msgspec.to_builtins(sent))
    presented = lock_by_token(machine.token.split("_")[2])
    assert presented is not None
    known = load_for_report(presented, report_id=sent.report_id, now=NOON)
    assert known.readiness is not None
    columns = {
        "node": presented.node_id, "cluster": presented.cluster_id, "report_id": sent.report_id, "now": NOON,
        "observed_at": NOON, "cadence": "tick", "agent_version": "", "boot_id": "", "captured_at": None, "moved": None,
        "rechecks": [], "token": presented.token_id, "note_use": False,
    }  # fmt: skip
    written = write_report(
        judged=Judged(), memory=[], evidence=[], identity=None, readiness=known.readiness, outbox=[], body={},
        columns=columns,
    )  # fmt: skip

    assert not written
    assert Report.objects.count() == 1


def test_a_row_that_names_the_node_does_not_wait_for_its_report(connect_as: Connect) -> None:
    """``NO KEY`` in ``ingest_sql.LOCK``: with a plain FOR UPDATE every insert that names the node would wait."""
    machine = enrolled_machine(make_cluster())
    held = push_and_hold(machine, connect_as)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '500ms'")
    Gap.objects.create(node=machine.node, cadence="tick", started_at=NOON)
    held.rollback()

    assert Gap.objects.count() == 1


def push_and_hold(machine: Machine, connect_as: Connect) -> psycopg.Connection:
    """A connection that has run the first statement of a report and not ended its transaction."""
    held = connect_as("app")
    held.execute(LOCK, {"key": machine.token.split("_")[2]})
    return held


def test_rules_that_change_while_a_report_waits_are_the_rules_it_is_judged_by(connect_as: Connect) -> None:
    """``judged_under ->> …`` in ``ingest_sql.LOAD``: read with the token, it would be of before the wait."""
    machine = enrolled_machine(make_cluster())
    held = push_and_hold(machine, connect_as)
    waiting = push(machine, machine.report(), timedelta())
    assert calls_waiting(1)
    cluster = machine.cluster
    cluster.overrides = {"hung-io": {"longest_wait": {"threshold": 120, "reason": "test", "source": "ours"}}}
    with transaction.atomic():
        cluster.save()
        cluster = refresh_rules(cluster)
    held.rollback()
    waiting.result()

    assert machine.readiness.judged_under == ruleset_for(cluster).judged_under


def test_two_nodes_that_bring_the_same_texts_in_other_orders_both_get_through(connect_as: Connect) -> None:
    """``sorted`` in ``evidence.evidence_rows``: without it each waits for the text that the other has just stored."""
    cluster = make_cluster()
    machines = [enrolled_machine(cluster, f"gpu{place:03}") for place in range(2)]
    texts = [f"text {place}" for place in range(40)]
    held = connect_as("app")
    held.execute("INSERT INTO checks_evidence VALUES (%s, '', '', false, now())", [digest_of("text 20")])
    reports = [
        machine.report(evidence=[_evidence(text) for text in order])
        for machine, order in zip(machines, (texts, texts[::-1]), strict=True)
    ]
    calls = [push(machine, report, timedelta()) for machine, report in zip(machines, reports, strict=True)]
    assert calls_waiting(2)
    held.rollback()

    assert [call.result().duplicate for call in calls] == [False, False]


def _evidence(text: str) -> dict[str, Any]:
    return {"probe": "p", "text": text, "truncated": False, "sha256": "0" * 64, "items": ["hung-io"]}


def test_the_last_use_of_an_enrolment_token_is_spent_once(connect_as: Connect) -> None:
    """The second ``_valid_token`` in ``enrolment._enrol``: without it both have read *one use left* before the wait."""
    cluster = make_cluster()
    token = enrolment_token(cluster, uses_left=1)
    held = connect_as("app")
    held.execute("SELECT FROM checks_cluster FOR NO KEY UPDATE")

    def enrol(hostname: str) -> Background:
        asked = Enrolment(hostname, {}, "boot-1", "0.1.0", "live")
        return Background(lambda: enrol_node(bearer=token, enrolment=asked, address=None, now=NOON))

    first = enrol("gpu001")
    assert calls_waiting(1)
    second = enrol("gpu002")
    assert calls_waiting(2)
    held.rollback()
    answers = [first.result(), second.result()]

    assert [getattr(answer, "code", "enrolled") for answer in answers] == ["enrolled", "bad_token"]
    assert Node.objects.count() == 1
