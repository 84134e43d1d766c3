"""Who may call what about incidents: every address, by every method, by every kind of caller."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.test import Client

from checks.api import incident_urls
from checks.models import Incident, TokenKind
from tests.fleet import make_fleet
from tests.incidents import opened
from tests.lab import HOUR, NOON, bearer, lab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
TAKEN: Mapping[str, frozenset[str]] = {
    "incidents": frozenset({"GET", "POST"}), "incident": frozenset({"GET"}), "alertmanager": frozenset({"POST"}),
}  # fmt: skip
Headers = Mapping[str, str]


@pytest.fixture
def headers() -> Callable[[str], Headers]:
    """An incident of helios; the headers of a caller of that kind."""
    fleet = make_fleet(at=NOON - HOUR)
    fleet.enrol("gpu001", at=NOON - HOUR)
    opened(fleet.cluster)
    made: dict[str, Callable[[], Headers]] = {
        "nobody": dict, "agent": lambda: bearer(TokenKind.AGENT, node=fleet.node("gpu001")),
        "gate": lambda: bearer(TokenKind.GATE, fleet.cluster),
        "enrolment": lambda: bearer(TokenKind.ENROLMENT, cluster=fleet.cluster),
        "operator": lambda: bearer(TokenKind.OPERATOR, fleet.cluster),
        "stranger": lambda: bearer(TokenKind.OPERATOR, lab("other")),
    }  # fmt: skip
    return lambda kind: made[kind]()


def called(client: Client, headers: Headers) -> dict[tuple[str, str], tuple[int, str]]:
    """Every address of incidents, by every method: status and code."""
    number = Incident.objects.values_list("pk", flat=True).get()
    answers = {}
    for pattern in incident_urls.urlpatterns:
        address = "/" + str(pattern.pattern).replace("<int:number>", str(number)).replace("<slug:cluster>", "helios")
        for method in METHODS:
            response: Any = client.generic(method, address, "{}", content_type="application/json", headers=headers)
            answers[pattern.name or "", method] = response.status_code, response.json().get("code", "")
    return answers


def test_no_address_of_incidents_is_left_out() -> None:
    assert {pattern.name for pattern in incident_urls.urlpatterns} == set(TAKEN)


def test_nobody_calls_any_of_it_without_a_token(client: Client, headers: Callable[[str], Headers]) -> None:
    assert set(called(client, headers("nobody")).values()) == {(401, "token_required")}


@pytest.mark.parametrize("kind", ["agent", "gate", "enrolment"])
def test_no_other_token_does_what_an_operators_does(
    client: Client, headers: Callable[[str], Headers], kind: str
) -> None:
    assert set(called(client, headers(kind)).values()) == {(403, "missing_scope")}


def test_an_operator_does_what_there_is_and_nothing_else(client: Client, headers: Callable[[str], Headers]) -> None:
    for (name, method), (status, code) in called(client, headers("operator")).items():
        expected = (200, 422) if method in TAKEN[name] else (405,)
        assert status in expected, (name, method, status, code)


def test_an_operator_of_another_cluster_finds_nothing_of_it(client: Client, headers: Callable[[str], Headers]) -> None:
    strange = headers("stranger")
    answers = called(client, strange)

    assert answers["incident", "GET"] == (404, "no_such_incident")
    assert answers["alertmanager", "POST"][0] == 404
    assert client.get("/api/v1/incidents", headers=strange).json()["incidents"] == []
