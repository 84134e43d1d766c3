"""A node taken by its own agent: when it may be, what the gate says meanwhile, and how it ends."""

import json
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from checks.domain.windows import WindowKind
from checks.models import LedgerEntry, MaintenanceWindow, NodeClaim, Run, Stage
from checks.services.windows import end_window, set_window
from tests.api.gate_lab import Gate, codes
from tests.factories import NOON, Machine, enrolled_machine, make_cluster
from tests.runs import a_run

pytestmark = pytest.mark.django_db

FIO = {"items": ["nvme-fio"], "minutes": 30}


@pytest.fixture
def machine() -> Machine:
    """A healthy node at noon UTC, in a cluster whose window is open from 11:00 to 13:00."""
    cluster = make_cluster()
    set_window(
        cluster=cluster, kind=WindowKind.MAINTENANCE, opens=time(11), closes=time(13), by=None, reason="", now=NOON
    )
    machine = enrolled_machine(cluster, now=NOON - timedelta(minutes=5))
    machine.push(cadence="daily")
    machine.push()  # the first of two: counters need a second look
    machine.sleep()
    machine.push()
    return machine


@pytest.fixture
def gate(client: Client, machine: Machine) -> Gate:
    return Gate(client, machine.cluster)


def claim(machine: Machine, body: dict[str, Any] = FIO, *, hostname: str = "gpu001", at: datetime = NOON) -> Any:
    with time_machine.travel(at, tick=False):
        return Client().post(
            f"/api/v1/nodes/{hostname}/claim",
            data=json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {machine.token}"},
        )


def release(machine: Machine, *, at: datetime = NOON) -> Any:
    with time_machine.travel(at, tick=False):
        return Client().delete("/api/v1/nodes/gpu001/claim", headers={"Authorization": f"Bearer {machine.token}"})


def ask(gate: Gate, at: datetime = NOON) -> dict[str, Any]:
    with time_machine.travel(at, tick=False):
        return gate.ask()


def test_a_healthy_node_is_ready_before_it_is_taken_and_says_that_a_window_is_open(gate: Gate) -> None:
    body = ask(gate)

    assert body["decision"] == "ready"
    assert body["maintenance"] == {"active": True, "until": "2026-11-30T13:00:00+00:00"}


def test_while_a_claim_stands_the_gate_says_measuring_and_until_when(gate: Gate, machine: Machine) -> None:
    response = claim(machine)
    body = ask(gate)

    assert (response.status_code, response.json()["until"]) == (201, "2026-11-30T12:30:00+00:00")
    assert response.json()["seconds"] == 1800
    assert (body["decision"], codes(body)) == ("not_ready", ["measuring"])
    assert body["reasons"][0]["value"] == "2026-11-30T12:30:00+00:00"
    assert body["reasons"][0]["node"] == "gpu001"


def test_a_claim_drains_no_node(machine: Machine, client: Client, gate: Gate) -> None:
    claim(machine)
    with time_machine.travel(NOON, tick=False):
        address = "/api/v1/clusters/alpha/nodes/gpu001/readiness"
        body = client.get(address, headers=gate.headers).json()

    assert body["decision"] == "not_ready"
    assert body["drain_allowed"] is False


def test_a_claim_ends_by_its_time_without_a_write(gate: Gate, machine: Machine) -> None:
    claim(machine, {"items": ["nvme-fio"], "minutes": 5})

    assert codes(ask(gate, NOON + timedelta(minutes=4, seconds=59))) == ["measuring"]
    assert ask(gate, NOON + timedelta(minutes=5))["decision"] == "ready"
    assert NodeClaim.objects.get().ended_at is None


def test_a_claim_ends_with_the_window(machine: Machine) -> None:
    response = claim(machine, {"items": ["nvme-fio"], "minutes": 240})

    assert response.json()["until"] == "2026-11-30T13:00:00+00:00"


def test_a_claim_ends_when_the_agent_gives_the_node_back(gate: Gate, machine: Machine) -> None:
    claim(machine)

    assert release(machine).status_code == 204
    assert ask(gate)["decision"] == "ready"
    assert release(machine).status_code == 204  # nothing to give back is no error


def test_a_claim_ends_with_the_report_that_answers_it(gate: Gate, machine: Machine) -> None:
    claim(machine)
    machine.sleep(timedelta(minutes=1))
    facts = {"nvme-fio": {"": {"read_bandwidth": (12.1, "GB/s"), "read_iops": (92000, "IOPS"),
                               "direct": (True, "bool"), "duration": (300.0, "seconds")}}}  # fmt: skip
    machine.push(facts=facts, cadence="offline")

    assert ask(gate, machine.now)["decision"] == "ready"
    assert NodeClaim.objects.get().ended_by == "reported"


def test_a_report_that_was_measured_before_the_claim_does_not_end_it(gate: Gate, machine: Machine) -> None:
    late = machine.report(facts={"nvme-fio": {"": {"direct": (True, "bool")}}}, cadence="offline")
    claim(machine, at=NOON + timedelta(minutes=5))
    machine.sleep(timedelta(minutes=6))
    machine.push(late, age_s=360.0)

    assert codes(ask(gate, machine.now)) == ["measuring"]


def test_outside_of_a_window_a_node_is_not_taken_and_the_next_one_is_named(machine: Machine) -> None:
    machine.cluster.time_zone = "Asia/Shanghai"
    machine.cluster.save()
    response = claim(machine)  # 20:00 there

    assert (response.status_code, response.json()["code"]) == (409, "outside_window")
    assert "2026-12-01 11:00 CST" in response.json()["detail"]


def test_a_window_that_has_been_ended_opens_no_more(machine: Machine) -> None:
    end_window(window=MaintenanceWindow.objects.get(), by=None, reason="", now=NOON)
    response = claim(machine)

    assert response.json()["code"] == "outside_window"
    assert "cluster window set" in response.json()["detail"]


@pytest.mark.parametrize("stage", [Stage.CLEARED, Stage.RUNNING])
def test_a_node_of_a_run_that_may_use_it_is_not_taken(machine: Machine, stage: Stage) -> None:
    run = a_run(machine.cluster, "gpu001", nodes_needed=1)
    Run.objects.filter(pk=run.pk).update(stage=stage)
    response = claim(machine)

    assert (response.status_code, response.json()["code"]) == (409, "node_engaged")
    assert "run-7" in response.json()["detail"]


def test_a_node_is_taken_once_at_a_time(machine: Machine) -> None:
    claim(machine)
    response = claim(machine, at=NOON + timedelta(minutes=1))

    assert (response.status_code, response.json()["code"]) == (409, "already_claimed")
    assert claim(machine, at=NOON + timedelta(minutes=30)).status_code == 201


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"items": ["gpu-ecc"], "minutes": 5}, 422, "nothing_to_claim"),
        ({"items": ["no-such-item"], "minutes": 5}, 422, "nothing_to_claim"),
        ({"items": [], "minutes": 5}, 422, "invalid_body"),
        ({"items": ["nvme-fio"], "minutes": 241}, 422, "invalid_body"),
        ({"items": ["nvme-fio"], "minutes": 0}, 422, "invalid_body"),
        ({"items": ["nvme-fio"]}, 422, "invalid_body"),
    ],
)
def test_a_claim_for_nothing_that_is_measured_offline_is_refused(
    machine: Machine, body: dict[str, Any], status: int, code: str
) -> None:
    response = claim(machine, body)

    assert (response.status_code, response.json()["code"]) == (status, code)


def test_an_agent_takes_its_own_node_only(machine: Machine) -> None:
    other = enrolled_machine(machine.cluster, "gpu002")
    response = claim(other)

    assert (response.status_code, response.json()["code"]) == (403, "wrong_node")


def test_a_gate_token_takes_no_node(gate: Gate, machine: Machine) -> None:
    response = Client().post(
        "/api/v1/nodes/gpu001/claim", data=json.dumps(FIO), content_type="application/json", headers=gate.headers
    )

    assert (response.status_code, response.json()["code"]) == (403, "missing_scope")


def test_taking_and_giving_back_stand_in_the_ledger(machine: Machine) -> None:
    claim(machine)
    release(machine, at=NOON + timedelta(minutes=2))
    entries = list(LedgerEntry.objects.filter(what__in=["node_claimed", "claim_ended"]).order_by("seq"))

    assert [(entry.what, entry.target, entry.who) for entry in entries] == [
        ("node_claimed", "gpu001", None),
        ("claim_ended", "gpu001", None),
    ]
    assert entries[0].data == {"items": ["nvme-fio"], "until": "2026-11-30T12:30:00+00:00"}
    assert entries[1].data["how"] == "released"


def test_the_answer_about_maintenance_changes_with_the_clock_alone(gate: Gate) -> None:
    noon = datetime(2026, 11, 30, 12, 59, 59, tzinfo=UTC)
    with time_machine.travel(noon, tick=False):
        response = gate.get()
    tag = response.headers["ETag"]
    with time_machine.travel(noon + timedelta(seconds=1), tick=False):
        after = gate.get(etag=tag)

    assert int(response.headers["Gate-TTL"]) <= 1
    assert after.status_code == 200
    assert after.json()["maintenance"] == {"active": False, "until": None}
