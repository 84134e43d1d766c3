"""Writing runs down, changing them and moving them on."""

from datetime import timedelta

import pytest

from checks.domain.errors import CountersignError
from checks.models import Cluster, LedgerEntry, Node, Outbox, Role, Run, Stage
from checks.selectors.runs import NoSuchRun, get_run_for, pool_of, pool_preview, runs_of
from checks.services.nodes import retire_node
from checks.services.permissions import MayNot, ReasonMissing
from checks.services.run_spec import InvalidRun
from checks.services.runs import (
    BadPool,
    MoveRefused,
    RunIsFixed,
    RunNameTaken,
    clone_run,
    edit_run,
    move_stage,
    set_pool,
)
from tests.lab import NOON, healthy_node, lab
from tests.people import person
from tests.runs import a_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    made = lab()
    for number in range(1, 5):
        healthy_node(made, f"gpu{number:03}")
    return made


def names(run: Run) -> list[str]:
    return [node.hostname for node in pool_of(run)]


def refusal(error: pytest.ExceptionInfo[CountersignError]) -> str:
    return error.value.message


def test_a_run_is_a_draft_on_the_nodes_that_were_named(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-003]")

    assert (run.stage, names(run)) == (Stage.DRAFT, ["gpu001", "gpu002", "gpu003"])


def test_making_a_run_stands_in_the_ledger_and_nobody_has_to_act_on_a_draft(cluster: Cluster) -> None:
    a_run(cluster, "gpu[001-003]")
    entry = LedgerEntry.objects.get(what="run_created")

    assert (entry.target, entry.data) == ("run-7", {"pool": "gpu[001-003]"})
    assert not Outbox.objects.filter(task="checks.notify", args=[entry.pk]).exists()


def test_a_viewer_makes_no_run(cluster: Cluster) -> None:
    with pytest.raises(MayNot, match="hardware engineer, AI platform engineer, data engineer, lead, administrator"):
        a_run(cluster, "gpu[001-002]", by=person("vera", cluster, Role.VIEWER))


def test_nodes_that_nobody_enrolled_are_refused_by_name(cluster: Cluster) -> None:
    with pytest.raises(BadPool) as refused:
        a_run(cluster, "gpu[001,077-078]")

    assert refusal(refused).startswith("gpu077, gpu078: not enrolled")


def test_a_node_that_was_taken_out_is_refused_by_name(cluster: Cluster) -> None:
    keeper = person("kim", cluster, Role.ADMIN)
    retire_node(node=Node.objects.get(hostname="gpu002"), by=keeper, reason="burnt", now=NOON)
    with pytest.raises(BadPool) as refused:
        a_run(cluster, "gpu[001-003]")

    assert refusal(refused).startswith("gpu002: taken out")


def test_a_pool_smaller_than_the_job_is_refused_with_both_numbers(cluster: Cluster) -> None:
    with pytest.raises(BadPool, match="needs 3 nodes and the pool has 2"):
        a_run(cluster, "gpu[001-002]", nodes_needed=3)


def test_a_short_name_is_taken_once_on_the_site(cluster: Cluster) -> None:
    a_run(cluster, "gpu[001-002]")
    other = lab("other")
    for name in ("gpu001", "gpu002"):
        healthy_node(other, name)
    with pytest.raises(RunNameTaken):
        a_run(other, "gpu[001-002]", by=person("olga", other, Role.LEAD))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"layout": {"tensor": 8, "pipeline": 4, "data": 2}}, "splits 64 processes, and the run has 16"),
        ({"layout": {"tensor": 0}}, "whole numbers"),
        ({"layout": {"Größe": 2}}, "whole numbers"),
        ({"artefacts": ({"name": "a", "digest": "latest"},)}, "digest such as sha256"),
        ({"bytes_per_parameter": {"weights": -2}}, "bytes a parameter"),
        ({"planned_end": NOON}, "end after its start"),
        ({"nodes_needed": 0}, "at least one node"),
        ({"model_name": "m" * 151}, "model_name: .*150"),
    ],
)
def test_a_run_that_cannot_be_is_refused_with_what_to_change(
    cluster: Cluster, changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InvalidRun, match=sentence):
        a_run(cluster, "gpu[001-002]", **changes)


def test_a_change_stands_in_the_ledger_with_before_and_after(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    edit_run(run=run, changes={"world_size": 32, "layout": {}}, by=run.owner, reason="", now=NOON)

    data = LedgerEntry.objects.get(what="run_edited").data
    assert (data["before"]["world_size"], data["after"]["world_size"]) == (16, 32)


def test_what_is_signed_of_a_running_run_cannot_change_but_its_owner_can(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    Run.objects.filter(pk=run.pk).update(stage=Stage.RUNNING)
    heir = person("heir", cluster, Role.LEAD)
    edit_run(run=run, changes={"owner": heir}, by=heir, reason="", now=NOON)
    with pytest.raises(RunIsFixed, match="is running"):
        edit_run(run=run, changes={"world_size": 32}, by=heir, reason="", now=NOON)
    with pytest.raises(RunIsFixed):
        set_pool(run=run, nodes="gpu[001-004]", by=heir, reason="", now=NOON)

    assert Run.objects.get().owner == heir


def test_nothing_of_a_run_that_is_over_changes(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    Run.objects.filter(pk=run.pk).update(stage=Stage.FINISHED)
    with pytest.raises(RunIsFixed, match="make a copy"):
        edit_run(run=run, changes={"name": "New"}, by=run.owner, reason="", now=NOON)


def test_a_pool_is_exactly_what_was_said_last(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-003]")
    set_pool(run=run, nodes="GPU[003-004]", by=run.owner, reason="", now=NOON)

    assert names(run) == ["gpu003", "gpu004"]


def test_a_copy_is_a_draft_as_long_as_the_first_without_nodes_that_were_taken_out(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-003]")
    retire_node(node=Node.objects.get(hostname="gpu002"), by=run.owner, reason="burnt", now=NOON)
    start = NOON + timedelta(days=30)
    copy = clone_run(run=run, slug="run-8", name="Again", planned_start=start, by=run.owner, now=NOON)

    assert (copy.stage, names(copy)) == (Stage.DRAFT, ["gpu001", "gpu003"])
    assert copy.planned_end - copy.planned_start == timedelta(days=10)


def test_a_run_is_moved_on_with_a_reason_that_stands_in_the_ledger(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    moved = move_stage(run=run, to=Stage.CHECKING, by=run.owner, reason="nodes are here", now=NOON)
    entry = LedgerEntry.objects.get(what="stage_moved")

    assert (moved.stage, entry.reason, entry.data) == (
        "checking", "nodes are here", {"before": "draft", "after": "checking"},
    )  # fmt: skip


def test_a_run_is_not_moved_without_a_reason(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    with pytest.raises(ReasonMissing):
        move_stage(run=run, to=Stage.CHECKING, by=run.owner, reason="  ", now=NOON)


def test_a_run_goes_only_where_the_table_lets_it(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    with pytest.raises(MoveRefused, match="From “draft” this run can go to: checking, aborted"):
        move_stage(run=run, to=Stage.CLEARED, by=run.owner, reason="now", now=NOON)


def test_no_hand_moves_a_run_to_running(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    Run.objects.filter(pk=run.pk).update(stage=Stage.CLEARED)
    with pytest.raises(MoveRefused, match="once its start was told"):
        move_stage(run=run, to=Stage.RUNNING, by=run.owner, reason="now", now=NOON)


def test_an_engineer_moves_a_run_on_and_does_not_abort_it(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    engineer = person("eva", cluster, Role.PLATFORM)
    move_stage(run=run, to=Stage.CHECKING, by=engineer, reason="nodes are here", now=NOON)
    with pytest.raises(MayNot, match="lead, administrator"):
        move_stage(run=run, to=Stage.ABORTED, by=engineer, reason="no", now=NOON)


def test_the_owner_of_a_run_aborts_it_whatever_role_they_work_in(cluster: Cluster) -> None:
    engineer = person("eva", cluster, Role.PLATFORM)
    run = a_run(cluster, "gpu[001-002]", by=engineer)

    assert move_stage(run=run, to=Stage.ABORTED, by=engineer, reason="no", now=NOON).stage == Stage.ABORTED


def test_a_stranger_finds_no_run_and_a_member_finds_it(cluster: Cluster) -> None:
    run = a_run(cluster, "gpu[001-002]")
    with pytest.raises(NoSuchRun):
        get_run_for(person("stranger"), run.slug)
    viewer = person("vera", cluster, Role.VIEWER)

    assert get_run_for(viewer, run.slug).run == run
    assert not get_run_for(viewer, run.slug).may_edit
    assert [access.run for access in runs_of(viewer)] == [run]


def test_a_preview_tells_unknown_and_retired_nodes_and_how_many_are_ready(cluster: Cluster) -> None:
    keeper = person("kim", cluster, Role.ADMIN)
    retire_node(node=Node.objects.get(hostname="gpu002"), by=keeper, reason="burnt", now=NOON)
    seen = pool_preview(cluster, "gpu[001-003,099]", now=NOON)

    assert (seen.nodes, seen.unknown, seen.retired, seen.ready_now) == (
        ("gpu001", "gpu003"), ("gpu099",), ("gpu002",), 2,
    )  # fmt: skip
