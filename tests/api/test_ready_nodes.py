"""Which ready nodes could a job take, on as few switches as possible: asked over HTTP, against real rows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import time_machine
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from checks.models import Cluster, Node, TokenKind
from tests.lab import HOUR, MINUTE, NOON, bad_row, bearer, database_away, firmware, healthy_node, lab

pytestmark = pytest.mark.django_db

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "checks/api/schema/ready-nodes.v1.json").read_text())
ADDRESS = "/api/v1/clusters/lab/ready-nodes"


@pytest.fixture(autouse=True)
def at_noon() -> Iterator[Any]:
    """Every question is asked at noon, unless the test moves the clock."""
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Three nodes on leaf-1, two on leaf-2, one on no known switch; all healthy."""
    made = lab()
    for number, switch in enumerate(["leaf-1", "leaf-1", "leaf-1", "leaf-2", "leaf-2", ""], start=1):
        node = healthy_node(made, f"gpu{number:03}")
        Node.objects.filter(pk=node.pk).update(switch=switch)
    return made


class Asker:
    """Asks with a token bound to the cluster."""

    def __init__(self, client: Client, cluster: Cluster) -> None:
        self.client, self.headers = client, bearer(TokenKind.GATE, cluster)

    def get(self, query: str, **headers: str) -> Any:
        return self.client.get(f"{ADDRESS}?{query}", headers=self.headers | headers)

    def ask(self, query: str) -> dict[str, Any]:
        """The answer's body, which must be what the schema says."""
        response = self.get(query)
        assert response.status_code == 200, response.content
        body: dict[str, Any] = response.json()
        jsonschema.validate(body, SCHEMA)
        return body


@pytest.fixture
def asker(client: Client, cluster: Cluster) -> Asker:
    return Asker(client, cluster)


def test_nodes_that_fit_one_switch_come_from_the_smallest_that_has_them(asker: Asker) -> None:
    body = asker.ask("count=2&prefer=same-switch")

    assert (body["decision"], body["ready"], body["nodes"]["hosts"]) == ("ready", True, "gpu[004-005]")
    assert body["switches"] == [{"switch": "leaf-2", "hosts": "gpu[004-005]", "nodes": 2}]
    assert body["reasons"] == []


def test_a_node_that_fails_is_never_offered(asker: Asker, cluster: Cluster) -> None:
    bad_row(cluster.nodes.get(hostname="gpu004"), "gpu-ecc", subject="gpu4")

    body = asker.ask("count=2")

    assert body["nodes"] == {"hosts": "gpu[001-002]", "asked": 2, "chosen": 2, "ready": 5, "of": 6}


def test_nodes_on_no_known_switch_are_named_so(asker: Asker) -> None:
    body = asker.ask("count=6")

    assert {one["switch"]: one["hosts"] for one in body["switches"]} == {
        "leaf-1": "gpu[001-003]",
        "leaf-2": "gpu[004-005]",
        None: "gpu006",
    }
    assert "Nodes on no known switch: 1" in body["explanation"]


def test_where_nodes_are_lacking_the_best_there_is_comes_with_the_gates_reasons(asker: Asker, cluster: Cluster) -> None:
    bad_row(cluster.nodes.get(hostname="gpu004"), "gpu-ecc", subject="gpu4")

    body = asker.ask("count=6")

    assert (body["decision"], body["nodes"]["hosts"]) == ("not_ready", "gpu[001-003,005-006]")
    assert [(why["node"], why["item"]) for why in body["reasons"]] == [("gpu004", "gpu-ecc")]
    assert body["explanation"].startswith("Only 5 of the 6 nodes")


def test_nodes_that_only_went_stale_leave_it_unknown(asker: Asker, at_noon: Any) -> None:
    at_noon.shift(15 * MINUTE)

    body = asker.ask("count=2")

    assert (body["decision"], body["ready"], body["nodes"]["hosts"]) == ("unknown", False, "")
    assert {why["code"] for why in body["reasons"]} == {"stale"}


def test_more_than_the_cluster_has_is_not_ready_and_says_how_many_there_are(asker: Asker) -> None:
    body = asker.ask("count=64")

    assert (body["decision"], body["nodes"]["chosen"]) == ("not_ready", 6)
    assert body["next_action"] == "Ask for fewer nodes: lab has 6."


def test_a_cluster_without_nodes_is_unknown(client: Client) -> None:
    body = Asker(client, lab()).ask("count=1")

    assert (body["decision"], [why["code"] for why in body["reasons"]]) == ("unknown", ["no_nodes"])


def test_the_gate_calls_the_offered_nodes_ready_even_where_others_differ_from_them(
    asker: Asker, cluster: Cluster
) -> None:
    for node in cluster.nodes.all():
        firmware(node, "96.00.00" if node.hostname == "gpu004" else "97.00.00")

    hosts = asker.ask("count=5")["nodes"]["hosts"]

    answer = asker.client.get("/api/v1/clusters/lab/readiness", {"nodes": hosts}, headers=asker.headers).json()
    assert (hosts, answer["decision"]) == ("gpu[001-003,005-006]", "ready")


def test_a_retired_node_is_not_offered(asker: Asker, cluster: Cluster) -> None:
    cluster.nodes.filter(hostname="gpu005").update(retired_at=NOON - HOUR)

    assert asker.ask("count=2")["nodes"]["hosts"] == "gpu[001-002]"


def test_an_answer_has_a_lifetime_and_a_tag_that_ends_with_what_it_says(
    asker: Asker, cluster: Cluster, at_noon: Any
) -> None:
    first = asker.get("count=2")
    assert (first["Gate-TTL"], first["Cache-Control"]) == ("300", "private, no-cache")

    at_noon.shift(MINUTE)
    again = asker.get("count=2", **{"If-None-Match": first["ETag"]})
    bad_row(cluster.nodes.get(hostname="gpu004"), "gpu-ecc", subject="gpu4")
    changed = asker.get("count=2", **{"If-None-Match": first["ETag"]})

    assert (again.status_code, again["Gate-TTL"], changed.status_code) == (304, "300", 200)


@pytest.mark.parametrize("more", [0, 20])
def test_it_takes_three_statements_however_many_nodes_there_are(
    asker: Asker, cluster: Cluster, more: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(more):
        healthy_node(cluster, f"more{number:02}")
    asker.ask("count=2")  # compiles the rules, once a process

    with django_assert_num_queries(3):
        asker.ask("count=2")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "count=0",
        "count=-1",
        "count=two",
        "count=16385",
        "count=2&count=3",
        "count=2&prefer=rack",
        "count=2&nodes=a",
    ],
)
def test_a_wrong_question_is_422_with_one_sentence(asker: Asker, query: str) -> None:
    response = asker.get(query)

    assert (response.status_code, response.json()["code"]) == (422, "bad_question")
    assert response["Content-Type"] == "application/problem+json"


def test_nobody_asks_without_a_token_and_nobody_posts(client: Client, asker: Asker) -> None:
    assert client.get(f"{ADDRESS}?count=2").json()["code"] == "token_required"
    assert client.post(ADDRESS, headers=asker.headers).status_code == 405


@pytest.mark.parametrize("kind", [TokenKind.ENROLMENT, TokenKind.OPERATOR])
def test_a_token_without_the_scope_is_forbidden(client: Client, cluster: Cluster, kind: TokenKind) -> None:
    response = client.get(f"{ADDRESS}?count=2", headers=bearer(kind, cluster=cluster))

    assert (response.status_code, response.json()["code"]) == (403, "missing_scope")


def test_an_agents_token_may_not_look_at_the_cluster(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.AGENT, node=cluster.nodes.get(hostname="gpu001"))

    assert client.get(f"{ADDRESS}?count=1", headers=headers).status_code == 403


def test_another_clusters_token_sees_no_cluster(client: Client, cluster: Cluster) -> None:
    response = client.get(f"{ADDRESS}?count=2", headers=bearer(TokenKind.GATE, lab("elsewhere")))

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_database_that_is_away_is_unknown(asker: Asker) -> None:
    with database_away():
        response = asker.get("count=2")

    assert (response.status_code, response.json()["decision"]) == (503, "unknown")


def test_the_openapi_document_describes_it(client: Client) -> None:
    document = client.get("/api/v1/schema?format=json").json()

    operation = document["paths"]["/api/v1/clusters/{cluster}/ready-nodes"]["get"]
    assert [one["name"] for one in operation["parameters"]] == ["cluster", "count", "prefer", "run"]
    assert document["components"]["schemas"]["ReadyNodes"] == SCHEMA
