"""A caller is not left waiting by a database that is slow, locked or frozen: it is told within seconds.

The servers that are frozen here are this test's own: SIGSTOP to a backend or to the postmaster, by its process id.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction
from django.test import Client

from checks.models import Cluster, TokenKind
from portal import connections as serving_connections
from portal.connections import LIMITS, end_waits
from portal.database import base
from portal.environment import database_from_url
from tests.architecture.source_files import ROOT
from tests.databases import TestDatabases
from tests.lab import bearer, lab

SOON_S = 5.0
DEPLOYED_PATIENCE_S, PATIENCE_S = serving_connections.PATIENCE_S, 0.5
SHOW_LIMITS = """
import django; django.setup()
from django.db import connections
for alias in ("default", "owner"):
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
        print(alias, *cursor.fetchone())
"""


@pytest.fixture
def serving(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process's connections are those of a web process, with less patience."""
    options = database_from_url("postgresql:///countersign")["OPTIONS"]
    monkeypatch.setitem(connections.settings["default"], "OPTIONS", options)
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    monkeypatch.setattr("portal.connections.PATIENCE_S", PATIENCE_S)
    monkeypatch.setattr(base, "_silence", base.Silence())
    connection.close()
    end_waits()
    yield
    connection.close()


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Processes of ours that stand still meanwhile."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def one(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    return row and row[0]


def give_up_after(setting: str, duration: str) -> None:
    """As deployed, only sooner."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, false)", [setting, duration])


@contextmanager
def refused_within(seconds: float, why: str) -> Iterator[None]:
    began = time.monotonic()
    with pytest.raises(OperationalError, match=why):
        yield
    assert time.monotonic() - began < seconds


def test_a_caller_of_a_deployed_portal_waits_less_than_five_seconds() -> None:
    assert int(LIMITS["statement_timeout"].removesuffix("ms")) / 1000 < DEPLOYED_PATIENCE_S < SOON_S


@pytest.mark.parametrize("setting", sorted(LIMITS))
def test_the_server_holds_a_callers_session_to_its_limits(serving: None, setting: str) -> None:
    assert one(f"SHOW {setting}") == LIMITS[setting]


def test_worker_and_commands_have_the_time_that_a_task_has_and_migrations_wait_for_no_table(
    transactional_db: None, databases: TestDatabases
) -> None:
    environment = os.environ | {
        "DATABASE_URL": databases.url("app"), "DATABASE_OWNER_URL": databases.url("owner"),
        "DJANGO_SETTINGS_MODULE": "portal.settings", "SECRET_KEY": "only for this test",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SHOW_LIMITS], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["default", "4min", "30s", "owner", "0", "10s"]


def test_a_slow_statement_ends_and_the_connection_goes_on(serving: None) -> None:
    pid = one("SELECT pg_backend_pid()")
    give_up_after("statement_timeout", "100ms")

    with refused_within(SOON_S, "statement timeout"):
        one("SELECT pg_sleep(30)")
    assert one("SELECT pg_backend_pid()") == pid


def test_a_row_that_somebody_else_holds_is_given_up(
    serving: None, connect_as: Callable[[str], psycopg.Connection]
) -> None:
    cluster = lab()
    connect_as("app").execute("SELECT FROM checks_cluster FOR UPDATE")

    with refused_within(SOON_S, "lock timeout"), transaction.atomic():
        give_up_after("lock_timeout", "100ms")
        Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)


def test_a_backend_that_stands_still_is_left_behind_and_another_one_serves_the_next(serving: None) -> None:
    pid = one("SELECT pg_backend_pid()")

    with stopped(pid), refused_within(SOON_S, f"no answer from the database within {PATIENCE_S}"):
        one("SELECT 1")

    base._silence = base.Silence()  # as after its pause
    connection.close()  # as at the end of a request
    assert one("SELECT pg_backend_pid()") != pid


def test_who_comes_next_is_told_at_once_and_not_held_as_long(serving: None, databases: TestDatabases) -> None:
    pid = one("SELECT pg_backend_pid()")
    with stopped(databases.server.child.pid, pid):
        with refused_within(SOON_S, "no answer"):
            one("SELECT 1")
        connection.close()

        with refused_within(0.5, "a moment ago"):
            one("SELECT 1")


def test_a_frozen_server_that_takes_connections_but_never_greets_is_given_up(
    serving: None, databases: TestDatabases
) -> None:
    with stopped(databases.server.child.pid), refused_within(SOON_S, "timeout expired"):
        one("SELECT 1")


def test_a_frozen_database_makes_the_gate_unknown_within_seconds(serving: None, client: Client) -> None:
    cluster = lab()
    headers = bearer(TokenKind.GATE, cluster)
    path = f"/api/v1/clusters/{cluster.slug}/readiness?nodes=gpu001"
    assert client.get(path, headers=headers).status_code == 200
    pid = one("SELECT pg_backend_pid()")

    began = time.monotonic()
    with stopped(pid):
        answer = client.get(path, headers=headers)

    assert time.monotonic() - began < SOON_S
    assert (answer.status_code, answer.json()["decision"], answer["Retry-After"]) == (503, "unknown", "5")


def test_a_frozen_database_costs_a_person_no_longer(serving: None) -> None:
    browser = Client(raise_request_exception=False)
    browser.cookies["sessionid"] = "s" * 32
    pid = one("SELECT pg_backend_pid()")

    began = time.monotonic()
    with stopped(pid):
        answer = browser.get("/")

    assert time.monotonic() - began < SOON_S
    assert answer.status_code == 503
