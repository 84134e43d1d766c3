"""Runs over REST, with an operator's token: written down, changed, moved on, started, and read."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from checks.models import LedgerEntry, Role, Run, TokenKind
from checks.services.clusters import create_cluster
from tests.fleet import Fleet, make_fleet
from tests.lab import HOUR, NOON, bearer
from tests.people import person
from tests.runs import DIGEST, a_run
from tests.signed import a_signable_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

RUNS = "/api/v1/runs"
BODY: dict[str, Any] = {
    "cluster": "helios", "slug": "llama-70b", "owner": "mei", "nodes": "gpu[001-003]", "name": "Llama 70 B",
    "nodes_needed": 2, "world_size": 16, "model_name": "llama-70b", "planned_start": "2026-12-01T12:00:00Z",
    "planned_end": "2026-12-11T12:00:00+00:00", "parameters": 70_000_000_000,
    "layout": {"tensor": 8, "pipeline": 1, "data": 2}, "bytes_per_parameter": {"weights": 2, "optimizer": 12},
    "dataset": "s3://corpus/v3", "artefacts": [{"name": "train.yaml", "digest": DIGEST}],
}  # fmt: skip


class Operator:
    """A program with a token bound to one cluster."""

    def __init__(self, client: Client, fleet: Fleet) -> None:
        self.client, self.fleet = client, fleet
        self.headers = bearer(TokenKind.OPERATOR, fleet.cluster)

    def send(self, method: str, path: str, **body: Any) -> Any:
        send = getattr(self.client, method)
        return send(f"{RUNS}{path}", body, content_type="application/json", headers=self.headers)

    def read(self, path: str = "", **query: Any) -> Any:
        return self.client.get(f"{RUNS}{path}", query, headers=self.headers)


@pytest.fixture
def operator(client: Client) -> Operator:
    """Three enrolled nodes that nobody measured yet, and Mei, who owns runs."""
    fleet = make_fleet(at=NOON - HOUR)
    for name in ("gpu001", "gpu002", "gpu003"):
        fleet.enrol(name, at=NOON - HOUR)
    person("mei", fleet.cluster, Role.LEAD)
    return Operator(client, fleet)


def refused(response: Any) -> tuple[int, str]:
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


def test_a_run_is_written_down_as_a_draft_and_read_back(operator: Operator) -> None:
    made = operator.send("post", "", **BODY)
    read = operator.read("/llama-70b")

    assert (made.status_code, read.status_code, made.json()) == (201, 200, read.json())
    expected = BODY | {
        "stage": "draft", "planned_start": "2026-12-01T12:00:00+00:00", "created_at": "2026-11-30T12:00:00+00:00",
    }  # fmt: skip
    assert read.json() == expected


def test_the_ledger_names_the_token_and_nobody(operator: Operator) -> None:
    operator.send("post", "", **BODY)
    entry = LedgerEntry.objects.get(what="run_created")
    key = operator.headers["Authorization"].split("_")[2]

    assert (entry.who, entry.data["token"], Run.objects.get().created_by) == (None, key, None)


@pytest.mark.parametrize(
    ("changes", "code", "status"),
    [
        ({"owner": "nobody"}, "no_such_owner", 422),
        ({"cluster": "other"}, "not_found", 404),
        ({"nodes": "gpu[001-009]"}, "bad_pool", 422),
        ({"nodes": "gpu[001"}, "bad_node_set", 422),
        ({"slug": "Llama 70"}, "invalid_run", 422),
        ({"world_size": 17}, "invalid_run", 422),
        ({"world_size": 0}, "invalid_body", 422),
        ({"planned_start": "2026-12-01T12:00:00"}, "invalid_body", 422),
        ({"planned_end": "2026-11-01T12:00:00Z"}, "invalid_run", 422),
        ({"stage": "cleared"}, "invalid_body", 422),
    ],
)
def test_a_run_that_cannot_be_is_refused_with_one_sentence(
    operator: Operator, changes: dict[str, Any], code: str, status: int
) -> None:
    create_cluster(slug="other", name="Other", profile="8xh200", by=None, now=NOON)
    response = operator.send("post", "", **(BODY | changes))

    assert refused(response) == (status, code)
    assert len(response.json()["detail"]) > 15
    assert not Run.objects.exists()


def test_a_name_is_taken_once_on_the_site(operator: Operator) -> None:
    operator.send("post", "", **BODY)

    assert refused(operator.send("post", "", **BODY)) == (409, "run_name_taken")


def test_a_run_of_a_cluster_that_the_token_is_not_bound_to_is_not_there(operator: Operator) -> None:
    other = make_fleet("other", at=NOON)
    other.enrol("gpu001", at=NOON)
    a_run(other.cluster, "gpu001", slug="secret", nodes_needed=1)
    paths = ("/secret", "/secret/manifest", "/secret/signatures", "/secret/ledger", "/secret/certificate", "/none")

    assert {refused(operator.read(path)) for path in paths} == {(404, "not_found")}
    assert refused(operator.send("patch", "/secret", name="mine")) == (404, "not_found")
    assert refused(operator.send("post", "/secret/started", nodes="gpu001")) == (404, "not_found")
    assert operator.read().json()["runs"] == []


def test_a_list_goes_on_where_its_page_ended(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checks.selectors.run_rest.PAGE", 2)
    for number in range(5):
        operator.send("post", "", **(BODY | {"slug": f"run-{number}"}))
    seen, address = [], f"{RUNS}?cluster=helios&stage=draft"
    while address:
        page = operator.client.get(address, headers=operator.headers).json()
        seen.append([run["slug"] for run in page["runs"]])
        address = page["next"]

    assert seen == [["run-4", "run-3"], ["run-2", "run-1"], ["run-0"]]


@pytest.mark.parametrize("query", ["page=2", "before=x", "before=0", "stage=draft&stage=running"])
def test_a_list_asked_for_wrongly_is_422(operator: Operator, query: str) -> None:
    assert refused(operator.client.get(f"{RUNS}?{query}", headers=operator.headers)) == (422, "bad_question")


def test_fields_that_are_sent_change_and_all_others_stay(operator: Operator) -> None:
    operator.send("post", "", **BODY)
    person("li", operator.fleet.cluster, Role.PLATFORM)
    changes = {"owner": "li", "dataset": "s3://corpus/v4", "artefacts": [], "parameters": None}
    edited = operator.send("patch", "/llama-70b", **changes)

    assert edited.status_code == 200
    assert operator.read("/llama-70b").json().items() >= (BODY | changes | {
        "planned_start": "2026-12-01T12:00:00+00:00"}).items()  # fmt: skip


def test_the_pool_is_exactly_the_nodes_that_are_sent(operator: Operator) -> None:
    operator.send("post", "", **BODY)
    changed = operator.send("put", "/llama-70b/pool", nodes="gpu[002-003]")

    assert (changed.status_code, changed.json()["nodes"]) == (200, "gpu[002-003]")
    assert refused(operator.send("put", "/llama-70b/pool", nodes="gpu002")) == (422, "bad_pool")


def test_a_copy_is_a_draft_of_its_own(operator: Operator) -> None:
    operator.send("post", "", **BODY)
    order = {"slug": "llama-2", "name": "Second", "planned_start": "2027-01-01T00:00:00Z", "owner": "mei"}
    copy = operator.send("post", "/llama-70b/clone", **order).json()

    assert (copy["slug"], copy["nodes"], copy["planned_end"]) == (
        "llama-2", "gpu[001-003]", "2027-01-11T00:00:00+00:00",
    )  # fmt: skip


def test_a_stage_is_moved_with_a_reason_and_only_where_it_leads(operator: Operator) -> None:
    operator.send("post", "", **BODY)
    moved = operator.send("post", "/llama-70b/stage", to="checking", reason="nodes are there")

    assert (moved.status_code, moved.json()["stage"]) == (200, "checking")
    assert refused(operator.send("post", "/llama-70b/stage", to="draft", reason=" ")) == (422, "reason_missing")
    assert refused(operator.send("post", "/llama-70b/stage", to="running", reason="go")) == (409, "move_refused")


def test_what_happened_to_a_run_is_told_newest_first(operator: Operator) -> None:
    operator.send("post", "", **BODY)
    operator.send("post", "/llama-70b/stage", to="checking", reason="nodes are there")
    told = operator.read("/llama-70b/ledger").json()

    assert [(entry["what"], entry["reason"]) for entry in told["entries"]] == [
        ("stage_moved", "nodes are there"), ("run_created", ""),
    ]  # fmt: skip
    assert told["next"] is None


def test_nothing_is_noted_of_a_start_while_the_gate_is_closed(operator: Operator) -> None:
    operator.send("post", "", **BODY)
    response = operator.send("post", "/llama-70b/started", nodes="gpu[001-002]")

    assert refused(response) == (409, "not_ready")
    assert operator.read("/llama-70b").json()["stage"] == "draft"
    assert refused(operator.send("post", "/llama-70b/restarted", nodes="gpu[001-002]", reason="crash")) == (
        409,
        "not_ready",
    )


@pytest.mark.parametrize("kind", [TokenKind.GATE, TokenKind.AGENT, TokenKind.ENROLMENT])
def test_other_tokens_neither_read_nor_change_runs(operator: Operator, kind: TokenKind) -> None:
    of = {
        TokenKind.GATE: {}, TokenKind.AGENT: {"node": operator.fleet.node("gpu001")},
        TokenKind.ENROLMENT: {"cluster": operator.fleet.cluster},
    }[kind]  # fmt: skip
    headers = bearer(kind, *([operator.fleet.cluster] if kind == TokenKind.GATE else []), **of)

    assert refused(operator.client.get(RUNS, headers=headers)) == (403, "missing_scope")
    assert refused(operator.client.get(RUNS)) == (401, "token_required")


def test_a_signed_run_is_started_brought_back_and_goes_on_with_its_spare(client: Client) -> None:
    signing = a_signable_run()
    operator = Operator(client, signing.fleet)
    unsigned = operator.read("/run-7/manifest").json()
    signing.sign_all()
    started = operator.send("post", "/run-7/started", nodes="gpu[001-002]")
    back = operator.send("post", "/run-7/restarted", nodes="gpu[001-002]", reason="NCCL timeout")
    spare = operator.send("post", "/run-7/replace", old="gpu002", new="gpu003", reason="fan")
    signed = operator.read("/run-7/signatures").json()

    assert [one.status_code for one in (started, back, spare)] == [201, 201, 201]
    assert (started.json()["nodes"], started.json()["restart_until"]) == (
        "gpu[001-002]", (NOON + timedelta(days=13)).isoformat(),
    )  # fmt: skip
    assert (spare.json()["kind"], spare.json()["nodes"]) == ("replacement", "gpu[001,003]")
    assert operator.read("/run-7").json()["stage"] == "running"
    assert (signed["signed"], {layer["state"] for layer in signed["layers"]}) == (True, {"signed"})
    digests = {one["digest"] for layer in signed["layers"] for one in layer["signatures"]}
    assert digests == {layer["digest"] for layer in unsigned["layers"]}
    assert all(one["counts"] for layer in signed["layers"] for one in layer["signatures"])


def test_the_manifest_names_what_is_in_the_way_of_signing(operator: Operator) -> None:
    operator.send("post", "", **BODY)
    physical = operator.read("/llama-70b/manifest").json()["layers"][0]

    assert (physical["layer"], physical["signable"], physical["left_out"]) == ("physical", False, "gpu[001-003]")
    assert {"node", "item", "subject", "code", "detail"} == set(physical["blockers"][0])
