"""May this run start? Every answer here is also that of the pages where people sign (`RunGate.at`)."""

import json
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checks.domain.verdicts import Layer
from checks.models import Role, TokenKind
from checks.services.overrides import force_open
from checks.services.shared_items import derive_shared_items
from checks.services.signing import revoke_signature
from tests.api.gate_lab import codes
from tests.api.run_lab import NARROW, RunGate, all_report, grown, narrow_link, told, waived
from tests.lab import HOUR, MINUTE, NOON, SECOND, bearer, lab
from tests.signed import Signing, a_signable_run, proof, tick

pytestmark = pytest.mark.django_db
READY_NODES = json.loads(
    (Path(__file__).resolve().parents[2] / "checks/api/schema/ready-nodes.v1.json").read_text(encoding="utf-8")
)
LAYERS = ["physical", "system", "framework", "data", "operations"]


@pytest.fixture
def signing() -> Signing:
    """A run whose nodes are well and whose people have not signed."""
    return a_signable_run()


@pytest.fixture
def gate(client: Client, signing: Signing) -> RunGate:
    return RunGate(client, signing)


def test_an_unsigned_run_starts_nowhere_and_each_layer_says_who_is_missing(gate: RunGate) -> None:
    body = gate.at()

    assert (body["decision"], body["purpose"], codes(body)) == ("not_ready", "start", ["unsigned"] * 5)
    assert [one["layer"] for one in body["signatures"]] == LAYERS
    assert body["signatures"][0]["missing_roles"] == ["hardware", "platform"]


def test_a_run_that_everybody_signed_may_start_on_its_pool(gate: RunGate) -> None:
    gate.signing.sign_all()
    body = gate.at()

    assert (body["decision"], body["basis"], body["reasons"]) == ("ready", "signed", [])
    assert body["nodes"]["ready_nodes"] == "gpu[001-003]"
    assert {one["state"] for one in body["signatures"]} == {"signed"}


def test_a_layer_that_one_of_two_signed_is_half_signed(gate: RunGate) -> None:
    gate.signing.sign(Role.HARDWARE)
    body = gate.at()

    assert body["signatures"][0] == {"layer": "physical", "state": "half", "missing_roles": ["platform"]}
    assert codes(body)[0] == "half_signed"


def test_the_next_answer_after_a_failure_is_closed_and_says_what_failed(gate: RunGate) -> None:
    gate.signing.sign_all()
    assert gate.at(nodes="gpu002")["ready"]
    tick(gate.signing.fleet, "gpu002", at=NOON + MINUTE, changed=NARROW)
    body = gate.at(NOON + MINUTE, nodes="gpu002")

    assert body["decision"] == "not_ready"
    assert ("criterion", "gpu002", "gpu-pcie-width") in told(body)


def test_a_pool_with_a_spare_starts_without_its_failing_node(gate: RunGate) -> None:
    gate.signing.sign_all()
    tick(gate.signing.fleet, "gpu002", at=NOON + MINUTE, changed=NARROW)
    body = gate.at(NOON + MINUTE)

    assert (body["ready"], body["nodes"]["ready_nodes"], body["nodes"]["not_ready_nodes"]) == (
        True, "gpu[001,003]", "gpu002",
    )  # fmt: skip


def test_a_waiver_closes_the_gate_again_in_the_second_after_its_end_without_any_write(gate: RunGate) -> None:
    at, until = NOON + 20 * MINUTE, NOON + 24 * MINUTE
    narrow_link(gate.signing, "gpu003", at=at)
    waived(gate.signing, "gpu003", until=until, at=at)
    gate.signing.sign_all(at=at)
    open_yet, closed = gate.at(until, nodes="gpu003"), gate.at(until + SECOND, nodes="gpu003")

    assert (open_yet["ready"], set(codes(open_yet)), open_yet["ttl_s"]) == (True, {"waived"}, 0)
    assert gate.at(at, nodes="gpu003")["ttl_s"] == 4 * 60
    assert closed["decision"] == "not_ready"
    assert ("criterion", "gpu003", "gpu-pcie-width") in told(closed)


def test_an_override_opens_the_gate_as_what_it_is_and_a_new_fault_closes_it(gate: RunGate) -> None:
    signing = gate.signing
    force_open(
        run=signing.run, by=signing.people[Role.LEAD], reason="deadline", ticket="OPS-1", until=NOON + HOUR,
        proof=proof(), now=NOON,
    )  # fmt: skip
    forced = gate.at()
    all_report(signing, NOON + MINUTE, gpu003=NARROW)
    closed = gate.at(NOON + MINUTE)

    assert (forced["ready"], forced["basis"], set(codes(forced))) == (True, "override", {"unsigned"})
    assert (closed["decision"], closed["basis"]) == ("not_ready", "signed")
    assert {"override_ended", "criterion"} <= set(codes(closed))


def test_an_override_is_over_a_second_after_its_time(gate: RunGate) -> None:
    signing = gate.signing
    force_open(
        run=signing.run, by=signing.people[Role.LEAD], reason="deadline", ticket="OPS-1", until=NOON + 2 * MINUTE,
        proof=proof(), now=NOON,
    )  # fmt: skip

    assert (gate.at()["ttl_s"], gate.at(NOON + 2 * MINUTE)["ready"]) == (120, True)
    assert gate.at(NOON + 2 * MINUTE + SECOND)["decision"] == "not_ready"


def test_a_node_that_is_not_the_runs_changes_nothing_of_the_answer(gate: RunGate) -> None:
    signing = gate.signing
    signing.fleet.enrol("gpu009", at=NOON - HOUR)
    tick(signing.fleet, "gpu009", at=NOON - MINUTE)
    signing.sign_all()
    with time_machine.travel(NOON, tick=False):
        before = gate.get(run="run-7")
        tick(signing.fleet, "gpu009", at=NOON, changed=NARROW)
        after = gate.get(run="run-7", etag=before["ETag"])

    assert (before.json()["decision"], after.status_code) == ("ready", 304)


def test_a_node_from_outside_of_the_pool_says_so(gate: RunGate) -> None:
    signing = gate.signing
    signing.fleet.enrol("gpu009", at=NOON - HOUR)
    signing.sign_all()

    assert ("not_in_pool", "gpu009", "") in told(gate.at(nodes="gpu001,gpu009"))


def test_firmware_that_changed_since_signing_disables_its_node_alone(gate: RunGate) -> None:
    signing = gate.signing
    signing.sign_all()
    signing.fleet.report(
        "gpu001", at=NOON + MINUTE, cadence="daily", changed={"gpu-firmware": {"vbios": "96.00.89.00.02"}}
    )
    body = gate.at(NOON + MINUTE)

    assert (body["ready"], body["nodes"]["ready_nodes"]) == (True, "gpu[002-003]")
    assert ("outdated_node", "gpu001", "") in told(gate.at(NOON + MINUTE, nodes="gpu[001-002]"))


def test_a_signature_that_was_revoked_closes_its_layer_at_once(gate: RunGate) -> None:
    gate.signing.sign_all()
    signature = gate.signing.state().signatures[Layer.PHYSICAL][0]
    revoke_signature(signature=signature, by=signature.signer, reason="wrong rack", proof=proof(), now=NOON)
    body = gate.at()

    assert (body["decision"], codes(body)) == ("not_ready", ["revoked"])


def test_signatures_of_the_physical_layer_end_after_three_days(gate: RunGate) -> None:
    gate.signing.sign_all()
    end = NOON + timedelta(hours=72)
    for node in ("gpu001", "gpu002", "gpu003"):
        gate.signing.fleet.report(node, at=end - 10 * MINUTE, cadence="daily")
    derive_shared_items(now=end - 10 * MINUTE)
    for minutes in (10, 5, 1):
        all_report(gate.signing, end - minutes * MINUTE)
    before, after = gate.at(end - MINUTE), gate.at(end + SECOND)

    assert (before["ready"], before["ttl_s"]) == (True, 60)
    assert ("expired", "", "") in told(after)


def test_the_runs_own_address_needs_no_cluster(client: Client, gate: RunGate) -> None:
    gate.signing.sign_all()
    with time_machine.travel(NOON, tick=False):
        answered = client.get("/api/v1/runs/run-7/readiness", headers=gate.headers)
        twice = client.get("/api/v1/runs/run-7/readiness?run=run-7", headers=gate.headers)

    assert (answered.status_code, answered.json()) == (200, gate.at())
    assert (twice.status_code, twice.json()["code"]) == (422, "bad_question")


def test_a_token_of_another_cluster_finds_no_such_run(client: Client, gate: RunGate) -> None:
    stranger = bearer(TokenKind.GATE, lab("other"))
    answers = [client.get(f"/api/v1/runs/{run}/readiness", headers=stranger) for run in ("run-7", "run-8")]

    assert [(one.status_code, one.json()["code"]) for one in answers] == [(404, "not_found")] * 2


def test_an_agent_asks_about_its_own_node_and_its_run(client: Client, gate: RunGate) -> None:
    gate.signing.sign_all()
    headers = bearer(TokenKind.AGENT, node=gate.signing.fleet.node("gpu002"))
    with time_machine.travel(NOON, tick=False):
        own = client.get("/api/v1/clusters/helios/nodes/gpu002/readiness?run=run-7", headers=headers)
        other = client.get("/api/v1/clusters/helios/nodes/gpu001/readiness?run=run-7", headers=headers)
        whole = client.get("/api/v1/runs/run-7/readiness", headers=headers)

    assert (own.json()["decision"], own.json()["nodes"]["asked"], own.json()["run"]) == ("ready", 1, "run-7")
    assert [other.status_code, whole.status_code] == [403, 403]


def test_shells_ask_about_a_run_in_plain_text(client: Client, gate: RunGate) -> None:
    with time_machine.travel(NOON, tick=False):
        unsigned = client.get("/gate/helios?run=run-7", headers=gate.headers)
        gate.signing.sign_all()
        signed = client.get("/gate/helios/gpu001?run=run-7", headers=gate.headers)

    assert (unsigned.status_code, unsigned.content.decode().splitlines()[0]) == (409, "not_ready")
    assert "physical fail (unsigned)" in unsigned.content.decode()
    assert (signed.status_code, signed.content.decode().splitlines()[0]) == (200, "ready")


def test_the_health_of_a_run_is_that_of_its_pool_and_asks_for_no_signature(gate: RunGate) -> None:
    gate.signing.fleet.enrol("gpu009", at=NOON - HOUR)
    with time_machine.travel(NOON, tick=False):
        body = gate.ask(run="run-7", purpose="health")

    assert (body["decision"], body["basis"], body["nodes"]["asked"], body["run"]) == ("ready", "checks", 3, "run-7")


def test_ready_nodes_of_a_run_are_those_of_its_pool_on_which_it_may_start(client: Client, gate: RunGate) -> None:
    signing = gate.signing
    signing.fleet.enrol("gpu009", at=NOON - HOUR)

    def chosen(count: int) -> tuple[str, str, list[str]]:
        address = f"/api/v1/clusters/helios/ready-nodes?run=run-7&count={count}"
        with time_machine.travel(NOON + SECOND, tick=False):
            body = client.get(address, headers=gate.headers).json()
        jsonschema.validate(body, READY_NODES)
        return body["decision"], body["nodes"]["hosts"], codes(body)

    assert chosen(2) == ("not_ready", "gpu[001-002]", ["unsigned"] * 5)
    signing.sign_all()
    tick(signing.fleet, "gpu001", at=NOON + SECOND, changed=NARROW)
    assert chosen(2) == ("ready", "gpu[002-003]", [])
    assert chosen(4)[0] == "not_ready"


def test_asking_takes_two_statements_for_a_pool_of_three_and_of_512(gate: RunGate) -> None:
    signing = gate.signing
    signing.sign_all()
    gate.at()
    counted = []
    for size in (3, 512):
        if size > 3:
            grown(signing, size)
            signing.sign_all(at=NOON + SECOND)
            gate.at(NOON + SECOND)
        with time_machine.travel(NOON + SECOND, tick=False), CaptureQueriesContext(connection) as seen:
            assert gate.ask(run="run-7")["nodes"]["ready"] == size
        counted.append(len(seen))

    assert counted == [2, 2]
