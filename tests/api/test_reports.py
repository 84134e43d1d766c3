"""Reports over HTTP: what is taken, what is refused, and that a refusal leaves nothing behind."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.http import HttpResponse
from django.test import Client

from checks.models import Evidence, NodeReadiness, Report
from tests.factories import Machine, enrolled_machine, make_cluster

pytestmark = pytest.mark.django_db

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "checks" / "api" / "schema" / "report.v1.json").read_text(encoding="utf-8")
)


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster(), now=datetime.now(UTC))


def post(machine: Machine, body: Any, *, encoding: str = "", token: str | None = None, age: str = "0") -> HttpResponse:
    """POST *body*: bytes as they are, anything else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {machine.token if token is None else token}", "Report-Age": age}
    if encoding:
        headers["Content-Encoding"] = encoding
    return Client().post("/api/v1/reports", data=data, content_type="application/json", headers=headers)


def refusal(response: HttpResponse) -> tuple[int, str]:
    """Status and code of a problem, once its form and that nothing was stored are sure."""
    problem = json.loads(response.content)
    assert response["Content-Type"] == "application/problem+json"
    assert problem["status"] == response.status_code
    assert problem["detail"].endswith(".")
    assert not Report.objects.exists()
    return response.status_code, problem["code"]


def test_a_report_is_accepted_with_the_fields_that_the_agent_reads(machine: Machine) -> None:
    report = machine.report()
    response = post(machine, report)
    answer = response.json()

    assert response.status_code == 202
    assert answer["report_id"] == report["report_id"]
    assert (answer["accepted"], answer["duplicate"]) == (True, False)
    assert (answer["poll_after"], answer["retry_after"], answer["recheck"]) == (60, 0, [])
    assert {"item": "hung-io", "subject": "", "verdict": "pass", "severity": "blocker", "reason": "", "detail": ""} in (
        answer["verdicts"]
    )


def test_a_gzipped_report_is_the_same_report(machine: Machine) -> None:
    report = machine.report()

    assert post(machine, gzip.compress(json.dumps(report).encode()), encoding="gzip").status_code == 202
    assert post(machine, report).json()["duplicate"]


def test_the_schema_file_accepts_what_the_portal_accepts(machine: Machine) -> None:
    jsonschema.validate(machine.report(), SCHEMA, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_truncated_gzip_is_a_bad_request(machine: Machine, cut: int) -> None:
    body = gzip.compress(json.dumps(machine.report()).encode())

    assert refusal(post(machine, body[:-cut], encoding="gzip")) == (400, "truncated_gzip")


def test_what_is_no_gzip_is_a_bad_request(machine: Machine) -> None:
    assert refusal(post(machine, b"not gzip", encoding="gzip")) == (400, "bad_gzip")


def test_an_unknown_encoding_is_refused(machine: Machine) -> None:
    assert refusal(post(machine, b"{}", encoding="br")) == (415, "bad_body")


def test_what_unpacks_to_more_than_eight_mebibytes_is_too_large(machine: Machine) -> None:
    bomb = gzip.compress(b" " * (8 * 1024 * 1024 + 1))

    assert refusal(post(machine, bomb, encoding="gzip")) == (413, "too_large")


def test_a_body_over_its_limit_is_too_large_before_it_is_read(machine: Machine) -> None:
    assert refusal(post(machine, b" " * (8 * 1024 * 1024 + 1))) == (413, "too_large")
    assert refusal(post(machine, b" " * (1024 * 1024 + 1), encoding="gzip")) == (413, "too_large")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe"])
def test_what_is_no_json_is_a_bad_request(machine: Machine, body: bytes) -> None:
    assert refusal(post(machine, body)) == (400, "bad_json")


def test_a_tower_of_brackets_is_refused_without_climbing_it(machine: Machine) -> None:
    tower = machine.report() | {"captured_at": "@"}
    body = json.dumps(tower).replace('"@"', "[" * 100_000).encode()

    assert refusal(post(machine, body)) == (422, "invalid_body")


def test_an_unknown_field_is_refused_with_its_path(machine: Machine) -> None:
    report = machine.report()
    report["node"]["colour"] = "green"
    response = post(machine, report)

    assert refusal(response) == (422, "invalid_body")
    assert "colour" in response.json()["detail"]
    assert "$.node" in response.json()["detail"]


def test_another_schema_number_is_named_as_such(machine: Machine) -> None:
    assert refusal(post(machine, machine.report() | {"schema": 2})) == (422, "unsupported_schema")


def broken(report: dict[str, Any], change: str) -> dict[str, Any]:
    """*report* with one mistake that both the schema file and the portal must refuse."""
    if change == "missing field":
        del report["clock"]
    elif change == "unknown field":
        report["facts"][0]["colour"] = "green"
    elif change == "wrong cadence":
        report["cadence"] = "hourly"
    elif change == "list for a value":
        report["facts"][0]["value"] = [1]
    elif change == "negative clock":
        report["clock"]["boottime"] = -1
    elif change == "unknown problem":
        report["problems"] = [{"item": "hung-io", "subject": None, "kind": "bored", "detail": ""}]
    elif change == "no hostname":
        report["node"]["hostname"] = ""
    elif change == "long text":
        report["facts"][0]["value"] = "x" * 1025
    elif change == "report id":
        report["report_id"] = "1"
    return report


CHANGES = ["missing field", "unknown field", "wrong cadence", "list for a value", "negative clock", "unknown problem",
           "no hostname", "long text"]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_both_sides_refuse_the_same_reports(machine: Machine, change: str) -> None:
    report = broken(machine.report(), change)

    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(report)
    assert refusal(post(machine, report)) == (422, "invalid_body")


def test_a_report_id_that_is_no_uuid_is_refused(machine: Machine) -> None:
    assert refusal(post(machine, broken(machine.report(), "report id"))) == (422, "invalid_body")


@pytest.mark.parametrize("age", ["soon", "nan", "inf"])
def test_an_age_that_is_no_number_is_refused(machine: Machine, age: str) -> None:
    assert refusal(post(machine, machine.report(), age=age)) == (400, "bad_report_age")


def test_a_negative_age_counts_as_new(machine: Machine) -> None:
    assert post(machine, machine.report(), age="-3600").status_code == 202
    assert machine.readiness.tick_at <= datetime.now(UTC)


def test_a_nul_in_a_text_is_replaced_and_not_an_error(machine: Machine) -> None:
    report = machine.report()
    report["facts"][0]["value"] = "a\x00\x00b"
    # printf 'x\357\277\275' | sha256sum
    digest = "5f350b94b4920d9b754a97c80041225f8d86f46f57886ec93ba109e432454d6a"
    report["evidence"] = [
        {"probe": "gpu", "text": "x\x00", "truncated": False, "sha256": digest, "items": ["gpu-present"]}
    ]

    assert post(machine, report).status_code == 202


def test_a_text_that_is_not_the_one_its_digest_was_made_of_is_refused_and_leaves_nothing(machine: Machine) -> None:
    report = machine.report()
    # printf 'Mem: 2063840 total' | sha256sum
    digest = "62b8db1fbd90e6c8c469b10d4af2fd3c6f2c9745580d4d89b859a5fb3ee022e8"
    told = {"probe": "memory", "text": "Mem: 2063840 total", "truncated": False, "sha256": digest, "items": ["mem-oom"]}
    report["evidence"] = [told, told | {"text": "Mem: 2063841 total"}]

    refused = post(machine, report)

    assert refusal(refused) == (422, "evidence_mismatch")
    assert "evidence[1] of 'memory' does not match its sha256" in json.loads(refused.content)["detail"]
    assert not Evidence.objects.exists()
    assert post(machine, report | {"evidence": [told]}).status_code == 202


def test_no_token_is_told_from_a_bad_one_by_its_code_only(machine: Machine) -> None:
    without = Client().post("/api/v1/reports", data="{}", content_type="application/json")
    bad = post(machine, machine.report(), token="cs_agent_abcdefgh_nope")

    assert refusal(without) == (401, "token_required")
    assert refusal(bad) == (401, "bad_token")
    assert without["WWW-Authenticate"] == bad["WWW-Authenticate"] == 'Bearer realm="countersign"'


def test_a_stolen_token_for_another_node_is_forbidden(machine: Machine) -> None:
    other = enrolled_machine(machine.cluster, "gpu002")

    assert refusal(post(machine, machine.report(), token=other.token)) == (403, "wrong_node")


def test_only_post_is_answered(machine: Machine) -> None:
    response = Client().get("/api/v1/reports", headers={"Authorization": f"Bearer {machine.token}"})

    assert refusal(response) == (405, "method_not_allowed")


def test_a_token_that_comes_too_often_is_told_when_to_come_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checks.api.throttles.AgentThrottle.PER_MINUTE", 1)
    post(machine, b"{")
    response = post(machine, machine.report())

    assert refusal(response) == (429, "throttled")
    assert 1 <= int(response["Retry-After"]) <= 60


def test_the_openapi_document_says_how_a_report_is_sent_and_refused() -> None:
    document = Client().get("/api/v1/schema", headers={"Accept": "application/vnd.oai.openapi+json"}).json()
    report = document["paths"]["/api/v1/reports"]["post"]

    assert report["security"] == [{"node_bearer": []}]
    assert document["components"]["securitySchemes"]["node_bearer"]["scheme"] == "bearer"
    sent = report["requestBody"]["content"]["application/json"]["schema"]
    assert sent["required"] == SCHEMA["required"]
    assert {"202", "400", "401", "403", "413", "422"} <= set(report["responses"])


@pytest.mark.parametrize(
    "captured_at",
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1999-12-31T23:59:59Z", "2026-11-30T12:00:00"],
    ids=["before year 1", "after year 9999", "before any agent", "without a time zone"],
)
def test_a_time_that_no_capture_can_have_is_refused(machine: Machine, captured_at: str) -> None:
    """A year 0 in the node's summary would make each later report of the node, and each re-judging, fail."""
    response = post(machine, machine.report() | {"captured_at": captured_at})

    assert refusal(response) == (422, "invalid_body")
    assert "captured_at" in response.json()["detail"]


def test_losses_beyond_belief_do_not_keep_later_reports_out(machine: Machine) -> None:
    """A sum that the column cannot hold would have every later report refused with a 503."""
    beyond = {"spool": 2**53, "bad": 2**53}
    NodeReadiness.objects.update(lost_reports=2**63 - 1)

    assert post(machine, machine.report() | {"lost": beyond}).status_code == 202
    assert post(machine, machine.report()).status_code == 202


def test_a_body_of_unknown_length_is_told_to_come_whole(machine: Machine) -> None:
    headers = {"Authorization": f"Bearer {machine.token}", "Transfer-Encoding": "chunked"}
    response = Client().post("/api/v1/reports", data=b"", content_type="application/json", headers=headers)

    assert refusal(response) == (411, "length_required")
