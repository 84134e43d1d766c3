"""May this run come back, at three in the morning, without two people? As in ``test_run_gate``, held to the pages."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checks.domain.verdicts import Layer
from checks.models import Role, Stage
from checks.services.runs import move_stage
from checks.services.signing import revoke_signature
from checks.services.starts import note_start, replace_node
from tests.api.gate_lab import codes
from tests.api.run_lab import NARROW, RunGate, all_report, told
from tests.lab import HOUR, MINUTE, NOON
from tests.signed import a_signable_run, proof

pytestmark = pytest.mark.django_db


@pytest.fixture
def gate(client: Client) -> RunGate:
    """A signed run of two nodes and a spare, which started at noon on gpu001 and gpu002."""
    signing = a_signable_run()
    signing.sign_all()
    note_start(run=signing.run, nodes="gpu[001-002]", by=signing.people[Role.LEAD], now=NOON)
    return RunGate(client, signing)


def test_a_run_comes_back_on_its_nodes_without_anybody(gate: RunGate) -> None:
    body = gate.at(purpose="restart", nodes="gpu[001-002]")

    assert (body["decision"], body["basis"], body["reasons"]) == ("ready", "signed-at-start", [])


def test_a_spare_takes_the_place_of_a_dead_node_without_a_new_signature(gate: RunGate) -> None:
    at = NOON + 5 * MINUTE
    all_report(gate.signing, at, gpu002=NARROW)
    dead, spare = (gate.at(at, purpose="restart", nodes=nodes) for nodes in ("gpu[001-002]", "gpu001,gpu003"))
    pool = gate.at(at, purpose="restart")

    assert ("criterion", "gpu002", "gpu-pcie-width") in told(dead)
    assert (spare["ready"], spare["basis"]) == (True, "signed-at-start")
    assert (pool["ready"], pool["nodes"]["ready_nodes"]) == (True, "gpu[001,003]")
    noted = replace_node(
        run=gate.signing.run, old="gpu002", new="gpu003", by=None, token="abcd2345", reason="riser", now=at
    )  # fmt: skip
    assert noted.hostnames == ["gpu001", "gpu003"]


def test_a_node_from_outside_of_the_pool_takes_nobodys_place(gate: RunGate) -> None:
    gate.signing.fleet.enrol("gpu009", at=NOON - HOUR)

    assert ("not_in_pool", "gpu009", "") in told(gate.at(purpose="restart", nodes="gpu001,gpu009"))


def test_a_node_with_another_firmware_than_was_signed_says_which(gate: RunGate) -> None:
    at = NOON + MINUTE
    gate.signing.fleet.report("gpu001", at=at, cadence="daily", changed={"gpu-firmware": {"vbios": "96.00.89.00.02"}})
    body = gate.at(at, purpose="restart", nodes="gpu[001-002]")
    changed = [reason for reason in body["reasons"] if reason["code"] == "identity_changed"]

    assert {(one["node"], one["item"], one["value"], one["threshold"]) for one in changed} == {
        ("gpu001", "gpu-firmware", "vbios 96.00.89.00.02", "vbios 96.00.89.00.01")
    }
    assert gate.at(at, purpose="restart", nodes="gpu[002-003]")["ready"]


def test_a_signature_revoked_since_the_start_keeps_the_run_down(gate: RunGate) -> None:
    signature = gate.signing.state().signatures[Layer.PHYSICAL][0]
    revoke_signature(signature=signature, by=signature.signer, reason="wrong rack", proof=proof(), now=NOON)
    body = gate.at(purpose="restart")

    assert (body["decision"], codes(body)) == ("not_ready", ["revoked"])
    assert body["signatures"][0]["state"] == "revoked"


def test_expired_signatures_keep_nobody_from_coming_back(gate: RunGate) -> None:
    """At three in the morning of the fifth day: physical signatures lasted 72 hours."""
    at = NOON + timedelta(days=4, hours=15)
    for name in ("gpu001", "gpu002", "gpu003"):
        gate.signing.fleet.report(name, at=at - 30 * MINUTE, cadence="daily")
    for minutes in (20, 15, 10, 5, 0):
        all_report(gate.signing, at - minutes * MINUTE)

    assert gate.at(at, purpose="restart")["ready"]
    assert "expired" in codes(gate.at(at))


def test_a_run_that_has_ended_does_not_come_back(gate: RunGate) -> None:
    signing = gate.signing
    move_stage(run=signing.run, to=Stage.ABORTED, by=signing.people[Role.LEAD], reason="diverged", now=NOON)

    assert codes(gate.at(purpose="restart")) == ["run_over"]


def test_only_what_changed_costs_a_third_statement(gate: RunGate) -> None:
    gate.at(purpose="restart")
    counted = [_statements(gate)]
    gate.signing.fleet.report("gpu001", at=NOON, cadence="daily", changed={"gpu-firmware": {"vbios": "96.00.89.00.02"}})
    counted.append(_statements(gate))

    assert counted == [2, 3]


def _statements(gate: RunGate) -> int:
    gate.at(purpose="restart")
    with CaptureQueriesContext(connection) as seen:
        gate.at(purpose="restart")
    return len(seen)
