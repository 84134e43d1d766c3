"""Two at once: sweeps, watchers and askers, each as the serving role on its own connection."""

import threading
from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from checks.models import BreakerTrip, Flip, Gap, RecheckRequest
from checks.services.breaker import watch_breakers
from checks.services.rechecks import request_recheck
from checks.services.sweep import sweep_gaps
from tests.lab import bad_row, healthy_node, lab

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()


def at_once(act: Callable[[], object], times: int = 4) -> None:
    """Run *act* in threads that all begin together; each has a connection of its own, and an error in one is raised."""
    together, errors = threading.Barrier(times), list[BaseException]()

    def run() -> None:
        try:
            connection.ensure_connection()
            together.wait(timeout=10)
            act()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert errors == []


def test_sweeps_at_once_open_one_gap() -> None:
    """Red without ``ON CONFLICT DO NOTHING`` in ``checks.services.sweep``: the slower one would fail."""
    healthy_node(lab(), tick_until=NOW - timedelta(minutes=1), daily_until=NOW + timedelta(hours=1))

    at_once(lambda: sweep_gaps(now=NOW))

    assert Gap.objects.count() == 1


def test_a_request_pressed_by_many_at_once_is_one_request() -> None:
    """Red without ``select_for_update`` in ``request_recheck``: each would find none and make its own."""
    node = healthy_node(lab())

    at_once(lambda: request_recheck(node=node, items=["gpu-ecc"], requested_by=None, now=NOW))

    assert RecheckRequest.objects.count() == 1


def test_watchers_at_once_open_one_breaker() -> None:
    """Red without ``ignore_conflicts`` in ``checks.services.breaker._open``: the slower one would fail."""
    cluster = lab()
    for number in range(4):
        node = healthy_node(cluster, f"gpu{number}")
        bad_row(node, "sysctl-somaxconn")
        Flip.objects.create(
            at=NOW, cluster=cluster, node=node, item="sysctl-somaxconn", raw_before="pass", raw="fail",
            settled_before="pass", settled="pass", item_version="v", cause="report",
        )  # fmt: skip

    at_once(lambda: watch_breakers(now=NOW))

    assert BreakerTrip.objects.count() == 1


def test_a_sweep_does_not_wait_for_a_report_that_is_being_stored(
    connect_as: Callable[[str], psycopg.Connection],
) -> None:
    """Red as soon as ``checks.services.sweep`` locks nodes or summaries: a slow ingest would hold it up."""
    node = healthy_node(lab(), tick_until=NOW - timedelta(minutes=1))
    ingest = connect_as("app")
    ingest.execute("SELECT FROM checks_node WHERE id = %s FOR NO KEY UPDATE", [node.pk])
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '2s'")

    assert sweep_gaps(now=NOW) >= 1


def test_the_serving_role_cannot_rewrite_the_ledger_entry_of_a_breaker(
    connect_as: Callable[[str], psycopg.Connection],
) -> None:
    """Red without ``append_only`` on ``LedgerEntry``, which takes the grant away, and its trigger."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect_as("app").execute("UPDATE checks_ledgerentry SET target = 'another item'")
