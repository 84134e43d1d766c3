"""Who may ask the gate, which questions are wrong, and what a portal in trouble answers: never a page."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.test import Client

from checks.api import gate as gate_views
from checks.dispatch import enqueue
from checks.domain.verdicts import Decision
from checks.models import Cluster, Outbox, Role, Token, TokenKind
from checks.selectors.gate_context import NoSuchCluster
from checks.selectors.readiness import answer_gate
from portal.celery import app
from tests.lab import HOUR, NOON, SECOND, bearer, database_away, healthy_node, lab
from tests.people import person

pytestmark = pytest.mark.django_db

LAB, LAB_NODE = "/api/v1/clusters/lab/readiness", "/api/v1/clusters/lab/nodes/gpu001/readiness"


@pytest.fixture(autouse=True)
def at_noon() -> Iterator[None]:
    """Every question is asked at noon."""
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A cluster with one healthy node."""
    made = lab()
    healthy_node(made)
    return made


def refused(response: Any) -> tuple[int, str]:
    """Status and code of a problem."""
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


def test_a_question_without_a_token_is_answered_with_a_challenge(client: Client, cluster: Cluster) -> None:
    response = client.get(LAB)

    assert refused(response) == (401, "token_required")
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("header", ["Bearer cs_gate_aaaaaaaa_wrong", "Bearer nonsense", "Basic dXNlcjpwYXNz"])
def test_a_wrong_token_is_refused(client: Client, cluster: Cluster, header: str) -> None:
    assert refused(client.get(LAB, headers={"Authorization": header})) == (401, "bad_token")


def test_the_right_key_with_another_secret_is_refused(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.GATE, cluster)

    assert refused(client.get(LAB, headers={"Authorization": headers["Authorization"] + "x"})) == (401, "bad_token")


@pytest.mark.parametrize("change", [{"revoked_at": NOON - SECOND}, {"expires_at": NOON}])
def test_a_revoked_or_expired_token_is_refused_at_once(
    client: Client, cluster: Cluster, change: dict[str, Any]
) -> None:
    headers = bearer(TokenKind.GATE, cluster)
    Token.objects.update(**change)

    assert refused(client.get(LAB, headers=headers)) == (401, "bad_token")


def test_a_token_from_outside_its_networks_is_refused(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.GATE, cluster, networks=["10.0.0.0/8"])

    assert refused(client.get(LAB, headers=headers)) == (401, "bad_token")


def test_another_clusters_token_sees_the_same_as_where_no_cluster_is(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.GATE, lab("elsewhere"))

    stranger, missing = client.get(LAB, headers=headers), client.get(LAB.replace("lab", "nowhere"), headers=headers)

    assert refused(stranger) == refused(missing) == (404, "not_found")
    assert stranger.content.replace(b"lab", b"nowhere") == missing.content


def test_a_closed_cluster_is_not_found(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.GATE, cluster)
    Cluster.objects.update(closed_at=NOON - HOUR)

    assert refused(client.get(LAB, headers=headers)) == (404, "not_found")


@pytest.mark.parametrize("kind", [TokenKind.ENROLMENT, TokenKind.OPERATOR])
def test_a_token_without_the_scope_is_forbidden(client: Client, cluster: Cluster, kind: TokenKind) -> None:
    assert refused(client.get(LAB, headers=bearer(kind, cluster=cluster))) == (403, "missing_scope")


def test_an_agents_token_asks_about_its_own_node_and_nothing_else(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.AGENT, node=cluster.nodes.get())
    healthy_node(cluster, "gpu002")

    assert client.get(LAB_NODE, headers=headers).json()["decision"] == "ready"
    assert refused(client.get(LAB_NODE.replace("gpu001", "gpu002"), headers=headers)) == (403, "missing_scope")
    assert refused(client.get(LAB, headers=headers)) == (403, "missing_scope")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("nodes=gpu[1-", "bad_node_set"),
        ("nodes=n[1-999999999]", "bad_node_set"),
        ("node=gpu001", "bad_question"),
        ("nodes=gpu001&nodes=gpu002", "bad_question"),
        ("purpose=now", "bad_question"),
    ],
)
def test_a_wrong_question_is_422_with_one_sentence(client: Client, cluster: Cluster, query: str, code: str) -> None:
    response = client.get(f"{LAB}?{query}", headers=bearer(TokenKind.GATE, cluster))

    assert refused(response) == (422, code)
    assert len(response.json()["detail"]) > 20


@pytest.mark.parametrize(
    "body", ["", "[]", '{"nodes": 3}', "{" * 100_000, '{"nodes": "gpu001", "force": true}', "\x00"]
)
def test_a_body_that_is_no_question_is_422(client: Client, cluster: Cluster, body: str) -> None:
    response = client.post(LAB, body, content_type="application/json", headers=bearer(TokenKind.GATE, cluster))

    assert refused(response) == (422, "bad_question")


def test_the_body_is_not_read_before_the_token_was_checked(client: Client, cluster: Cluster) -> None:
    assert refused(client.post(LAB, "{", content_type="application/json")) == (401, "token_required")


def test_nothing_is_written_or_deleted_here(client: Client, cluster: Cluster) -> None:
    assert refused(client.delete(LAB, headers=bearer(TokenKind.GATE, cluster))) == (405, "method_not_allowed")


def test_an_address_that_does_not_exist_is_a_problem_and_no_page(client: Client) -> None:
    assert refused(client.get("/api/v1/nonsense/")) == (404, "not_found")


def test_use_of_a_token_is_noted_once_a_minute(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.GATE, cluster)
    Token.objects.update(last_used_at=NOON - 61 * SECOND)

    client.get(LAB, headers=headers)

    assert Token.objects.get().last_used_at == NOON


def test_a_database_that_is_away_is_unknown_in_a_problem(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.GATE, cluster)
    with database_away():
        response = client.get(LAB, headers=headers)

    assert refused(response) == (503, "database_unavailable")
    assert (response.json()["decision"], response.json()["ready"]) == ("unknown", False)
    assert response["Retry-After"] == "5"


def test_an_error_that_nobody_foresaw_is_unknown(
    client: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_views, "answer_in", lambda *_, **__: 1 / 0)

    response = client.get(LAB, headers=bearer(TokenKind.GATE, cluster))

    assert refused(response) == (503, "cannot_tell")
    assert response.json()["decision"] == "unknown"


def test_a_person_gets_the_schedulers_answer_and_a_stranger_none(cluster: Cluster) -> None:
    asked: Any = {"cluster": "lab", "nodes": ["gpu001"], "purpose": None, "run": None, "now": NOON}

    assert answer_gate(user=person("ada", cluster, Role.VIEWER), **asked).decision is Decision.READY
    for stranger in (person("eve"), AnonymousUser()):
        with pytest.raises(NoSuchCluster):
            answer_gate(user=stranger, **asked)


def test_a_web_process_never_talks_to_the_broker(
    client: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red as soon as ``checks.dispatch.enqueue`` sends instead of writing: the listener would be asked."""
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        frozen.setblocking(False)
        monkeypatch.setattr(app.conf, "broker_url", f"redis://127.0.0.1:{frozen.getsockname()[1]}/0")
        with transaction.atomic():
            enqueue("checks.sweep_gaps", now=NOON)
        answered = client.get(LAB, headers=bearer(TokenKind.GATE, cluster))

        with pytest.raises(BlockingIOError):
            frozen.accept()
    assert answered.json()["decision"] == "ready"
    assert Outbox.objects.get().sent_at is None


def test_an_agent_asks_about_its_own_node_in_capitals_too(client: Client, cluster: Cluster) -> None:
    node = healthy_node(cluster, "gpu002")

    assert client.get("/gate/lab/GPU002", headers=bearer(TokenKind.AGENT, node=node)).status_code == 200


def test_a_wrong_method_is_told_the_right_ones(client: Client, cluster: Cluster) -> None:
    response = client.delete(LAB, headers=bearer(TokenKind.GATE, cluster))

    assert refused(response) == (405, "method_not_allowed")
    assert response["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("node", ["gpu001%0A", "gpu[001-002]"])
def test_what_is_no_host_name_is_a_wrong_question(client: Client, cluster: Cluster, node: str) -> None:
    response = client.get(f"/api/v1/clusters/lab/nodes/{node}/readiness", headers=bearer(TokenKind.GATE, cluster))

    assert refused(response) == (422, "bad_question")


def test_a_node_in_the_address_and_others_in_the_question_contradict_each_other(
    client: Client, cluster: Cluster
) -> None:
    response = client.get(f"{LAB_NODE}?nodes=gpu002", headers=bearer(TokenKind.GATE, cluster))

    assert refused(response) == (422, "bad_question")


def test_a_question_of_a_thousand_fields_is_the_askers_fault(client: Client, cluster: Cluster) -> None:
    fields = "&".join(f"a{number}=1" for number in range(1001))

    assert refused(client.get(f"{LAB}?{fields}", headers=bearer(TokenKind.GATE, cluster))) == (400, "bad_request")


@pytest.mark.parametrize("body", [r'{"\ud800": 1}', r'{"nodes": "\ud800"}', "[" * 100_000, "\xff", "NaN", ""])
def test_damaged_json_is_the_askers_fault(client: Client, cluster: Cluster, body: str) -> None:
    sent = body.encode("latin-1")
    response = client.post(LAB, sent, "application/json", headers=bearer(TokenKind.GATE, cluster))

    assert refused(response) == (422, "bad_question")


@pytest.mark.parametrize("address", ["/api", "/api/", "/api/v1", "/api/v1/nowhere"])
def test_no_address_below_api_brings_a_page(client: Client, address: str) -> None:
    assert refused(client.get(address)) == (404, "not_found")
