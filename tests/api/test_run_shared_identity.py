"""What no node holds was signed with its identity too: a commit, an image, a dataset. At a restart it must be the same.

The catalogue of the tests holds no such item, so its rows are given an identity as the judge would give them one.
"""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checks.domain.verdicts import Purpose
from checks.models import NodeItemState, NodeReadiness, Role, ScopeState
from checks.services.starts import NotReady, note_restart, note_start
from tests.api.run_lab import RunGate, told
from tests.lab import NOON
from tests.signed import a_signable_run

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(seconds=1)


@pytest.fixture
def gate(client: Client) -> RunGate:
    """A run that was signed over the revision of its dataset's spot check and of its runbook, and started."""
    signing = a_signable_run()
    names("data-spot-check", revision="r1")
    names("ops-runbook", commit="0a1b")
    signing.sign_all()
    note_start(run=signing.run, nodes="gpu[001-002]", by=signing.people[Role.LEAD], now=NOON)
    return RunGate(client, signing)


def names(item: str, **identity: str) -> None:
    ScopeState.objects.filter(item=item).update(identity=identity)


def test_another_revision_of_the_dataset_keeps_every_node_of_the_run_down(gate: RunGate) -> None:
    names("data-spot-check", revision="r2")
    for body in (gate.at(purpose="restart", nodes="gpu[001-002]"), gate.at(purpose="restart")):
        assert (body["decision"], told(body)) == ("not_ready", [("identity_changed", "", "data-spot-check")])
        reason = body["reasons"][0]
        assert (reason["layer"], reason["value"], reason["threshold"]) == ("data", "revision r2", "revision r1")


def test_a_restart_on_another_commit_is_not_noted(gate: RunGate) -> None:
    names("ops-runbook", commit="2c3d")
    with pytest.raises(NotReady) as refused:
        note_restart(run=gate.signing.run, nodes="gpu[001-002]", by=None, reason="crash", now=LATER)

    assert [(why.code, why.item) for why in refused.value.answer.reasons] == [("identity_changed", "ops-runbook")]


def test_a_row_that_nobody_holds_any_more_is_not_what_was_signed(gate: RunGate) -> None:
    ScopeState.objects.filter(item="ops-runbook").delete()

    assert told(gate.at(purpose="restart")) == [("identity_changed", "", "ops-runbook")]


def test_what_was_signed_without_an_identity_may_get_one(gate: RunGate) -> None:
    names("ops-shift", roster="week 49")

    assert gate.at(purpose="restart")["ready"]


def test_a_row_that_says_what_a_node_is_is_told_apart(gate: RunGate) -> None:
    """By that a restart knows which rows of any layer must not be unknown."""
    lost = NodeItemState.objects.filter(node__hostname="gpu001", item__in=["gpu-firmware", "gpu-pcie-width"])
    number = lost.update(raw="unknown", reason="not_measured", blocks=2)
    NodeReadiness.objects.filter(node__hostname="gpu001").update(start_bad=number, health_bad=number)
    rows = gate.signing.ask(["gpu001"], Purpose.RESTART).launch.nodes.bad_rows

    assert {(row.item, row.identifies) for row in rows} == {("gpu-firmware", True), ("gpu-pcie-width", False)}


def test_it_costs_no_statement_while_nothing_changed_and_one_when_something_did(gate: RunGate) -> None:
    counted = []
    for revision in ("r1", "r2"):
        names("data-spot-check", revision=revision)
        gate.at(purpose="restart")
        with CaptureQueriesContext(connection) as seen:
            gate.at(purpose="restart")
        counted.append(len(seen))

    assert counted == [2, 3]
