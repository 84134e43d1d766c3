"""Items that a whole cluster holds, judged from the reports of its nodes."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checks.models import Cluster, Evidence, Run, ScopeState, Stage
from checks.services.shared_items import derive_shared_items
from tests.factories import NOON, TICK, Machine, enrolled_machine, make_cluster, put_catalogue_in_force
from tests.runs import a_run

pytestmark = pytest.mark.django_db
CATALOGUE = settings.BASE_DIR / "checks" / "catalog"
ONE, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
PYTHON, IMAGE, MEETING = "python-env-uniform", "image-uniform", "rendezvous"


@pytest.fixture
def cluster() -> Cluster:
    put_catalogue_in_force(CATALOGUE)
    return make_cluster(training_env="container")


@pytest.fixture
def machines(cluster: Cluster) -> list[Machine]:
    return [enrolled_machine(cluster, f"gpu{number:03}") for number in (1, 2, 3)]


def say(machine: Machine, item: str, cadence: str = "daily", **facts: Any) -> None:
    """Have *machine* report texts, numbers and truths about *item*."""
    units = {bool: "bool", int: "count", str: "text"}
    told = {item: {"": {name: (value, units[type(value)]) for name, value in facts.items()}}}
    machine.push(facts=told, cadence=cadence, covered=[item])


def row(item: str) -> ScopeState:
    return ScopeState.objects.get(item=item, subject="", scope="cluster")


def test_nodes_with_one_set_of_packages_pass_together(machines: list[Machine]) -> None:
    for machine in machines:
        say(machine, PYTHON, environment=ONE)

    derive_shared_items(now=NOON)

    assert (row(PYTHON).raw, row(PYTHON).settled) == ("pass", "pass")
    assert row(PYTHON).observed_at == NOON
    assert row(PYTHON).valid_until == NOON + timedelta(hours=36)


def test_a_node_that_differs_fails_the_cluster_and_is_named_in_the_evidence(machines: list[Machine]) -> None:
    for machine, environment in zip(machines, (ONE, ONE, OTHER), strict=True):
        say(machine, PYTHON, environment=environment)

    derive_shared_items(now=NOON)

    assert row(PYTHON).raw == "fail"
    assert f"{OTHER} · 1: gpu003" in Evidence.objects.get(digest=row(PYTHON).evidence).text


def test_a_node_that_could_not_say_leaves_it_unknown_and_is_named(machines: list[Machine]) -> None:
    for machine in machines[:2]:
        say(machine, PYTHON, environment=ONE)
    problem = (PYTHON, "*", "missing", "agent.json names no training_python")
    machines[2].push(facts={}, cadence="daily", covered=[PYTHON], problems=[problem])

    derive_shared_items(now=NOON)

    assert (row(PYTHON).raw, row(PYTHON).reason) == ("unknown", "missing")
    assert row(PYTHON).detail.endswith("gpu003 (agent.json names no training_python)")


def test_the_last_word_of_a_node_counts(machines: list[Machine]) -> None:
    for machine in machines:
        say(machine, PYTHON, environment=OTHER)
        machine.sleep()
        say(machine, PYTHON, cadence="check", environment=ONE)
        machine.push(facts={}, covered=[])  # a later tick says nothing of it

    derive_shared_items(now=NOON + 2 * TICK)

    assert row(PYTHON).raw == "pass"


def test_what_was_said_too_long_ago_is_not_heard(machines: list[Machine]) -> None:
    for machine in machines[:2]:
        say(machine, IMAGE, present=True, digest=ONE)
    machines[2].now = NOON + timedelta(hours=40)
    say(machines[2], IMAGE, present=True, digest=ONE)

    derive_shared_items(now=NOON + timedelta(hours=40))

    assert row(IMAGE).raw == "unknown"
    assert "2 of 3 nodes" in row(IMAGE).detail


def test_a_node_without_the_image_fails_the_cluster(machines: list[Machine]) -> None:
    for machine in machines[:2]:
        say(machine, IMAGE, present=True, digest=ONE)
    say(machines[2], IMAGE, present=False)

    derive_shared_items(now=NOON)

    assert (row(IMAGE).raw, row(IMAGE).value["facts"]) == ("fail", {"digests": 1, "nodes_without_image": 1})


def test_a_node_of_no_run_is_nothing_to_one_that_is_planned(cluster: Cluster, machines: list[Machine]) -> None:
    readied(cluster)
    for machine, environment in zip(machines, (ONE, ONE, OTHER), strict=True):
        say(machine, PYTHON, environment=environment)

    derive_shared_items(now=NOON)

    assert row(PYTHON).raw == "pass"


def test_a_node_that_was_never_heard_of_keeps_nobody_from_passing(cluster: Cluster, machines: list[Machine]) -> None:
    enrolled_machine(cluster, "gpu004")
    for machine in machines:
        say(machine, PYTHON, environment=ONE)

    derive_shared_items(now=NOON)

    assert row(PYTHON).raw == "pass"


def test_where_nobody_says_anything_there_is_no_row(machines: list[Machine]) -> None:
    assert derive_shared_items(now=NOON) == 0
    assert not ScopeState.objects.exists()


def test_a_cluster_without_a_training_environment_is_not_asked_about_one() -> None:
    put_catalogue_in_force(CATALOGUE)
    say(enrolled_machine(make_cluster(training_env="none")), PYTHON, environment=ONE)

    assert derive_shared_items(now=NOON) == 0


def test_deriving_twice_says_the_same_and_moves_no_epoch(machines: list[Machine]) -> None:
    for machine in machines:
        say(machine, PYTHON, environment=ONE)
    derive_shared_items(now=NOON)
    before = row(PYTHON)
    derive_shared_items(now=NOON + TICK)

    assert (row(PYTHON).epoch, row(PYTHON).since, row(PYTHON).observed_at) == (
        before.epoch, before.since, before.observed_at,
    )  # fmt: skip


def meet(machine: Machine, **changes: Any) -> None:
    facts: dict[str, Any] = {"master": "gpu001:29500", "resolves": True, "reaches": True, "socket_interfaces": 1}
    say(machine, MEETING, cadence="tick", **(facts | changes))


def readied(cluster: Cluster, stage: Stage = Stage.SIGNOFF) -> Run:
    run = a_run(cluster, "gpu[001-002]")
    Run.objects.filter(pk=run.pk).update(stage=stage)
    return run


def test_nodes_of_a_run_that_is_made_ready_must_find_each_other(cluster: Cluster, machines: list[Machine]) -> None:
    readied(cluster)
    meet(machines[0], is_master=True, port_in_use=False)
    meet(machines[1], reaches=False)

    derive_shared_items(now=NOON)

    assert (row(MEETING).raw, row(MEETING).value["facts"]["nodes_not_reaching"]) == ("fail", 1)


def test_a_failure_to_meet_settles_only_when_it_holds_for_three_rounds(
    cluster: Cluster, machines: list[Machine]
) -> None:
    readied(cluster)
    settled = []
    for number in range(3):
        meet(machines[0], is_master=True, port_in_use=False)
        meet(machines[1], reaches=False)
        derive_shared_items(now=NOON + number * TICK)
        settled.append(row(MEETING).settled)
        for machine in machines:
            machine.sleep()

    assert settled == ["", "", "fail"]


@pytest.mark.parametrize("stage", [Stage.RUNNING, Stage.FINISHED])
def test_outside_of_that_nobody_asks_whether_they_meet(cluster: Cluster, machines: list[Machine], stage: Stage) -> None:
    readied(cluster, stage)
    meet(machines[0], is_master=True, port_in_use=True)

    assert derive_shared_items(now=NOON) == 0


def test_a_cluster_costs_the_same_statements_however_many_nodes_it_has(
    cluster: Cluster, machines: list[Machine]
) -> None:
    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            derive_shared_items(now=NOON)
        return len(asked)

    for machine in machines:
        say(machine, PYTHON, environment=ONE)
    statements()  # the first one makes the row
    few = statements()
    for number in range(4, 9):
        say(enrolled_machine(cluster, f"gpu{number:03}"), PYTHON, environment=ONE)

    assert statements() == few
