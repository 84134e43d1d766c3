"""Enrolment and the agent's plan over HTTP."""

import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from checks.models import Node
from checks.services.rechecks import request_recheck
from tests.factories import Machine, enrolled_machine, enrolment_token, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster())


def enroll(token: str, **changes: Any) -> HttpResponse:
    body = {
        "hostname": "gpu001",
        "serials": {"system": "S"},
        "boot_id": "b",
        "agent_version": "0.1.0",
        "origin": "live",
    }
    return Client().post(
        "/api/v1/enroll",
        data=json.dumps(body | changes),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )


def plan(token: str, etag: str = "") -> HttpResponse:
    headers = {"Authorization": f"Bearer {token}"} | ({"If-None-Match": etag} if etag else {})
    return Client().get("/api/v1/agent/plan", headers=headers)


def test_a_machine_enrols_and_learns_when_to_come() -> None:
    response = enroll(enrolment_token(make_cluster(interval_s=120, poll_after_s=30)))
    answer = response.json()

    assert response.status_code == 201
    assert (answer["cluster"], answer["hostname"], answer["interval"], answer["poll_after"]) == (
        "alpha",
        "gpu001",
        120,
        30,
    )
    assert answer["node_id"] == str(Node.objects.get().pk)
    assert answer["token"].startswith("cs_agent_")
    assert response["Cache-Control"] == "no-store"


def test_a_taken_hostname_is_a_conflict() -> None:
    token = enrolment_token(make_cluster())
    enroll(token)
    response = enroll(token)

    assert (response.status_code, response.json()["code"]) == (409, "already_enrolled")


@pytest.mark.parametrize("hostname", ["", "-gpu", "gpu 1", "gpu\n1", "../gpu", "x" * 254])
def test_a_name_that_no_host_can_have_is_refused(hostname: str) -> None:
    response = enroll(enrolment_token(make_cluster()), hostname=hostname)

    assert (response.status_code, response.json()["code"]) == (422, "invalid_body")
    assert not Node.objects.exists()


def test_a_gate_or_agent_may_not_enrol_others(machine: Machine) -> None:
    response = enroll(machine.token, hostname="gpu002")

    assert (response.status_code, response.json()["code"]) == (403, "enrolment_refused")


def test_the_plan_names_built_in_probes_and_bounded_numbers_only(machine: Machine) -> None:
    answer = plan(machine.token).json()

    assert set(answer) == {
        "schemas", "interval", "poll_after", "tick", "daily", "offline", "recheck", "allow",
        "settings", "fingerprint",
    }  # fmt: skip
    assert (answer["schemas"], answer["interval"], answer["poll_after"]) == ([1], 300, 60)
    assert "gpu-ecc" in answer["tick"]
    assert answer["daily"] == ["gpu-firmware"]
    assert (answer["offline"], answer["allow"]) == ([], {"disruptive": False})
    assert (answer["settings"], answer["fingerprint"]) == ([], 3600)


def test_a_start_item_is_measured_with_each_tick(machine: Machine) -> None:
    assert "gpu-clean" in plan(machine.token).json()["tick"]


def test_a_plan_that_is_held_is_not_sent_again(machine: Machine) -> None:
    etag = plan(machine.token)["ETag"]
    again = plan(machine.token, etag)

    assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)


def test_a_report_answers_with_the_etag_of_the_plan_and_no_verdict_changes_it(machine: Machine) -> None:
    receipt = machine.push()

    assert f'"{receipt.plan_etag}"' == plan(machine.token)["ETag"]


def test_a_recheck_changes_the_plan_until_it_is_measured(machine: Machine) -> None:
    held = plan(machine.token)["ETag"]
    asked = request_recheck(node=machine.node, items=["hung-io"], requested_by=None, now=timezone.now())
    answer = plan(machine.token, held).json()
    machine.now = timezone.now()
    receipt = machine.push()

    assert answer["recheck"] == [{"id": asked.pk, "items": ["hung-io"]}]
    assert receipt.recheck == []
    assert plan(machine.token)["ETag"] == held


def test_a_retired_node_gets_no_plan(machine: Machine) -> None:
    Node.objects.update(retired_at=timezone.now())
    response = plan(machine.token)

    assert (response.status_code, response.json()["code"]) == (403, "node_retired")


def test_an_enrolment_token_gets_no_plan() -> None:
    response = plan(enrolment_token(make_cluster()))

    assert (response.status_code, response.json()["code"]) == (403, "missing_scope")


@pytest.mark.parametrize("field", ["boot_id", "agent_version", "serials"])
def test_a_nul_in_what_a_machine_says_of_itself_is_no_fault_of_the_portal(field: str) -> None:
    said = {"\x00slot": "S\x00"} if field == "serials" else "a\x00b"

    assert enroll(enrolment_token(make_cluster()), **{field: said}).status_code == 201
    assert "\x00" not in str(getattr(Node.objects.get(), field))


@pytest.mark.parametrize("hostname", ["gpu001\n", "gpu001.", "gp\u00fc001", "gpu\u0661"])
def test_a_name_that_would_pass_for_another_is_refused(hostname: str) -> None:
    assert enroll(enrolment_token(make_cluster()), hostname=hostname).status_code == 422


def test_the_longest_host_name_enrols() -> None:
    hostname = ".".join(["x" * 63] * 3 + ["x" * 61])

    assert enroll(enrolment_token(make_cluster()), hostname=hostname).json()["hostname"] == hostname
