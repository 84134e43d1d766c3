"""The gate for a shell: the status says it, the first line says it, and it is plain text whatever happens."""

from collections.abc import Iterator

import pytest
import time_machine
from django.test import Client

from checks.api import gate_text
from checks.models import Cluster, TokenKind
from tests.lab import NOON, SECOND, bad_row, bearer, database_away, healthy_node, lab

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def at_noon() -> Iterator[None]:
    """Every question is asked at noon."""
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A cluster with a healthy node, a broken one and a silent one."""
    made = lab()
    healthy_node(made, "gpu001")
    broken = healthy_node(made, "gpu002")
    bad_row(broken, "sysctl-somaxconn", value={"facts": {"live": 4096}})
    healthy_node(made, "gpu003", tick_until=NOON - SECOND)
    return made


def ask(client: Client, cluster: Cluster, address: str) -> tuple[int, list[str]]:
    """Status and lines of an answer, which must be plain text."""
    response = client.get(address, headers=bearer(TokenKind.GATE, cluster))
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    return response.status_code, response.content.decode().splitlines()


def test_a_ready_node_is_200(client: Client, cluster: Cluster) -> None:
    status, lines = ask(client, cluster, "/gate/lab/gpu001")

    assert (status, lines[0]) == (200, "ready")
    assert lines[1] == "health: 1 of 1 nodes ready, for 300 s"


def test_a_broken_node_is_409_and_says_what_to_do(client: Client, cluster: Cluster) -> None:
    status, lines = ask(client, cluster, "/gate/lab/gpu002")

    assert (status, lines[0]) == (409, "not_ready")
    (reason,) = [line for line in lines if line.startswith("gpu002 sysctl-somaxconn fail (criterion)")]
    assert ": 4096, threshold 65535; " in reason


def test_a_silent_node_is_503(client: Client, cluster: Cluster) -> None:
    status, lines = ask(client, cluster, "/gate/lab/gpu003")

    assert (status, lines[0]) == (503, "unknown")


def test_a_node_that_is_not_enrolled_is_503(client: Client, cluster: Cluster) -> None:
    status, lines = ask(client, cluster, "/gate/lab/gpu999")

    assert (status, lines[0], "not enrolled: gpu999" in lines) == (503, "unknown", True)


def test_the_whole_cluster_is_as_ready_as_its_worst_node(client: Client, cluster: Cluster) -> None:
    status, lines = ask(client, cluster, "/gate/lab")

    assert (status, lines[0], "not ready: gpu[002-003]" in lines) == (409, "not_ready", True)


def test_a_node_set_can_be_asked_about(client: Client, cluster: Cluster) -> None:
    assert ask(client, cluster, "/gate/lab?nodes=gpu[001-001]")[0] == 200


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/gate/nowhere", 404),
        ("/gate/nowhere/gpu001", 404),
        ("/gate/lab/gpu001/extra", 404),
        ("/gate/", 404),
        ("/gate/lab?run=llm-70b", 404),
        ("/gate/lab?nodes=n[1-", 422),
        ("/gate/lab/gpu001?nodes=gpu002", 422),
    ],
)
def test_a_wrong_question_is_text_that_begins_with_unknown(
    client: Client, cluster: Cluster, address: str, status: int
) -> None:
    answered, lines = ask(client, cluster, address)

    assert (answered, lines[0]) == (status, "unknown")


def test_no_token_is_text_and_no_redirect_to_a_sign_in_page(client: Client, cluster: Cluster) -> None:
    response = client.get("/gate/lab", headers={"Accept": "text/html"})

    assert (response.status_code, response.content.splitlines()[0]) == (401, b"unknown")
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_database_that_is_away_is_503_and_unknown(client: Client, cluster: Cluster) -> None:
    headers = bearer(TokenKind.GATE, cluster)
    with database_away():
        response = client.get("/gate/lab", headers=headers)

    assert (response.status_code, response.content.splitlines()[0]) == (503, b"unknown")
    assert response["Content-Type"] == "text/plain; charset=utf-8"


def test_an_error_that_nobody_foresaw_is_503_and_unknown(
    client: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_text, "answer_in", lambda *_, **__: 1 / 0)

    status, lines = ask(client, cluster, "/gate/lab")

    assert (status, lines[0]) == (503, "unknown")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"])
@pytest.mark.parametrize("address", ["/gate/lab", "/gate/lab/gpu001", "/gate/nowhere/at/all"])
def test_no_method_brings_a_page(cluster: Cluster, method: str, address: str) -> None:
    """The line that this holds is ``csrf_exempt`` in ``answers_text``: without it a POST gets a page of 403."""
    response = Client(enforce_csrf_checks=True).generic(method, address, headers=bearer(TokenKind.GATE, cluster))

    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.startswith(b"unknown\n")


def test_a_wrong_method_is_told_the_right_ones(client: Client, cluster: Cluster) -> None:
    response = client.post("/gate/lab", headers=bearer(TokenKind.GATE, cluster))

    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("node", ["gpu001%0Aready", "%1B%5B2J", "gpu 001", "gpu[001-002]", "x" * 254])
def test_what_is_no_host_name_is_a_wrong_question(client: Client, cluster: Cluster, node: str) -> None:
    status, lines = ask(client, cluster, f"/gate/lab/{node}")

    assert (status, lines[0], lines[1].split(":")[0]) == (422, "unknown", "bad_question")


def test_a_name_with_a_line_break_stays_on_its_line(client: Client, cluster: Cluster) -> None:
    healthy_node(cluster, "gpu004\nready", tick_until=NOON - SECOND)
    _, lines = ask(client, cluster, "/gate/lab")

    assert "ready" not in lines[1:]
