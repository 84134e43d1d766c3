"""What the portal itself counted: restarts that were told, and the node-days of the runs that they belong to."""

from datetime import timedelta

import pytest

from checks.models import Cluster, Run, RunStart, Stage, StartKind
from checks.selectors.reliability import history_of
from checks.services.ledger import write_entry
from tests.factories import NOON, enrolled_machine, make_cluster
from tests.runs import a_run

DAY = timedelta(days=1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    """A run that may use two nodes."""
    cluster: Cluster = make_cluster()
    for name in ("gpu001", "gpu002"):
        enrolled_machine(cluster, name)
    return a_run(cluster, "gpu[001-002]", nodes_needed=2)


def started(run: Run, kind: StartKind, days: int) -> None:
    """It started, or came back, that many days after noon."""
    at = NOON + days * DAY
    RunStart.objects.create(
        run=run, kind=kind, at=at, hostnames=["gpu001", "gpu002"], basis=[], restart_until=at + 30 * DAY
    )


def test_a_cluster_without_a_start_has_no_history(run: Run) -> None:
    history = history_of(run.cluster, now=NOON)

    assert (history.failures, history.node_days) == (0, 0)


def test_restarts_are_counted_over_the_days_of_the_runs_nodes(run: Run) -> None:
    for kind, days in (
        (StartKind.START, 0),
        (StartKind.RESTART, 2),
        (StartKind.REPLACEMENT, 3),
        (StartKind.RESTART, 3),
    ):
        started(run, kind, days)

    history = history_of(run.cluster, now=NOON + 5 * DAY)

    assert (history.failures, history.node_days) == (2, 10.0)


def test_a_run_that_is_over_was_watched_until_it_was_said_to_be(run: Run) -> None:
    started(run, StartKind.START, 0)
    Run.objects.filter(pk=run.pk).update(stage=Stage.FINISHED)
    write_entry(
        what="stage_moved", target=run.slug, cluster=run.cluster, now=NOON + 4 * DAY, reason="done",
        data={"before": "running", "after": "finished"},
    )  # fmt: skip

    assert history_of(run.cluster, now=NOON + 90 * DAY).node_days == 8.0
