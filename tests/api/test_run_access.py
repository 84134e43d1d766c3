"""Who may call what about runs and sign-off: every address, by every method, by every kind of caller."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern
from pytest_django import Settings

from checks.api import gate_urls, run_urls
from checks.models import LedgerEntry, TokenKind
from portal.quickstart.place import Place
from tests.fleet import make_fleet
from tests.lab import HOUR, NOON, bearer, lab
from tests.runs import a_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# What each address takes; whatever is sent otherwise is refused as well.
OPERATORS: Mapping[str, frozenset[str]] = {
    name: frozenset(methods.split())
    for name, methods in {
        "runs": "GET POST", "run": "GET PATCH", "run-clone": "POST", "run-pool": "PUT", "run-stage": "POST",
        "run-started": "POST", "run-restarted": "POST", "run-replace": "POST", "run-manifest": "GET",
        "run-signatures": "GET", "run-certificate": "GET", "run-ledger": "GET", "run-evidence": "POST",
        "run-estimates": "GET POST", "estimate": "GET", "estimate-actuals": "POST", "run-forecast": "GET",
        "cluster-drift": "GET",
    }.items()
}  # fmt: skip
PERSONS = frozenset({"run-signatures", *(f"person-{act}" for act in run_urls.PERSONS_ACTS)})
#: May a run start or come back: who asks with ``?run=``.
GATES = ("gate", "gate-node", "gate-ready-nodes", "gate-run", "gate-text", "gate-text-node")
#: Orders that would be carried out.
ORDERS: Mapping[str, Mapping[str, str]] = {
    "run-clone": {"slug": "copy", "name": "Copy", "planned_start": "2027-01-01T00:00:00Z", "owner": "maker-of-run-7"},
    "run-pool": {"nodes": "gpu001"}, "run-started": {"nodes": "gpu001"},
    "run-stage": {"to": "checking", "reason": "go"}, "run-restarted": {"nodes": "gpu001", "reason": "crash"},
    "run-replace": {"old": "gpu001", "new": "gpu002", "reason": "fan"},
}  # fmt: skip
#: There is no estimate yet.
NOT_MADE = {("estimate", "no_such_estimate"), ("estimate-actuals", "no_such_estimate")}
PARTS = {"<slug:run>": "run-7", "<slug:cluster>": "helios", "<str:node>": "gpu001", "<int:number>": "1"}
Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of one call."""

    name: str
    method: str
    status: int
    code: str


@pytest.fixture
def headers(settings: Settings, tmp_path: Path) -> Callable[[str], Headers]:
    """A run on one node of helios; the headers of a caller of that kind."""
    settings.LEDGER_KEY_FILE = str(Place(tmp_path).ledger_key())  # no worker is here to seal certificates
    fleet = make_fleet(at=NOON - HOUR)
    fleet.enrol("gpu001", at=NOON - HOUR)
    a_run(fleet.cluster, "gpu001", nodes_needed=1)
    made: dict[str, Callable[[], Headers]] = {
        "nobody": dict, "agent": lambda: bearer(TokenKind.AGENT, node=fleet.node("gpu001")),
        "gate": lambda: bearer(TokenKind.GATE, fleet.cluster),
        "enrolment": lambda: bearer(TokenKind.ENROLMENT, cluster=fleet.cluster),
        "operator": lambda: bearer(TokenKind.OPERATOR, fleet.cluster),
        "stranger": lambda: bearer(TokenKind.OPERATOR, lab("other")),
        "strange gate": lambda: bearer(TokenKind.GATE, lab("other")),
    }  # fmt: skip
    return lambda kind: made[kind]()


def address_of(pattern: URLPattern) -> str:
    route = str(pattern.pattern)
    for part, filled in PARTS.items():
        route = route.replace(part, filled)
    assert "<" not in route
    return f"/{route}"


def called(client: Client, headers: Headers) -> list[Answered]:
    """Every address of runs, by every method."""
    return [
        _call(client, pattern.name or "", method, address_of(pattern), headers)
        for pattern in run_urls.urlpatterns for method in METHODS
    ]  # fmt: skip


def _call(client: Client, name: str, method: str, address: str, headers: Headers) -> Answered:
    order = json.dumps(ORDERS.get(name, {}))
    response: Any = client.generic(method, address, order, content_type="application/json", headers=headers)
    body = json.loads(response.content) if "json" in response.get("Content-Type", "") else {}
    return Answered(name, method, response.status_code, body.get("code", ""))


def test_no_address_and_no_method_of_runs_is_left_out() -> None:
    held = {
        pattern.name: frozenset(method.upper() for method in METHODS if hasattr(pattern.callback.cls, method.lower()))  # type: ignore[attr-defined]
        for pattern in run_urls.urlpatterns
    }  # fmt: skip
    posts = {name: methods | {"POST"} if name in PERSONS else methods for name, methods in OPERATORS.items()}

    assert held == {name: (posts.get(name) or frozenset({"POST"})) | {"OPTIONS"} for name in OPERATORS.keys() | PERSONS}
    assert {pattern.name for pattern in gate_urls.urlpatterns if "gate" in (pattern.name or "")} == {*GATES}


def test_nobody_calls_any_of_it_without_a_token(client: Client, headers: Callable[[str], Headers]) -> None:
    assert {(one.status, one.code) for one in called(client, headers("nobody"))} == {(401, "token_required")}


def test_a_persons_session_is_no_token_at_any_address(
    client: Client, headers: Callable[[str], Headers], admin_user: Any
) -> None:
    client.force_login(admin_user)

    assert {(one.status, one.code) for one in called(client, headers("nobody"))} == {(401, "token_required")}


@pytest.mark.parametrize("kind", ["agent", "gate", "enrolment"])
def test_no_other_token_does_what_an_operators_does(
    client: Client, headers: Callable[[str], Headers], kind: str
) -> None:
    of_kind = headers(kind)
    before = LedgerEntry.objects.count()
    for one in called(client, of_kind):
        if one.name in PERSONS and (one.method == "POST" or one.name != "run-signatures"):
            expected = {(403, "browser_only")} if one.method == "POST" else {(405, "method_not_allowed"), (200, "")}
        elif kind == "agent" and one.name == "run-evidence":  # what a node audited it may push
            expected = {(422, "invalid_body"), (405, "method_not_allowed"), (200, "")}
        else:
            expected = {(403, "missing_scope")}
        assert (one.status, one.code) in expected, one
    assert LedgerEntry.objects.count() == before


def test_an_operators_token_does_what_is_its_own_and_nothing_that_is_a_persons(
    client: Client, headers: Callable[[str], Headers]
) -> None:
    for one in called(client, headers("operator")):
        if one.name in PERSONS and one.method == "POST":
            assert (one.status, one.code) == (403, "browser_only"), one
        elif one.method in OPERATORS.get(one.name, ()):
            assert one.status in (200, 201, 409, 422) or (one.name, one.code) in NOT_MADE, one
        else:
            assert one.status == (200 if one.method == "OPTIONS" else 405), one


def test_an_operator_of_another_cluster_finds_no_run_at_any_address(
    client: Client, headers: Callable[[str], Headers]
) -> None:
    found = {
        (one.name, one.method): (one.status, one.code)
        for one in called(client, headers("stranger"))
        if one.method in OPERATORS.get(one.name, ()) and one.name != "runs"
    }  # fmt: skip

    assert {status for status, _ in found.values()} == {404}, found
    assert {name for (name, _), said in found.items() if said != (404, "not_found")} == {"estimate", "estimate-actuals"}


def _asked(client: Client, headers: Headers) -> dict[str, int]:
    """The status of each gate's answer about the run, by its address."""
    gates = {pattern.name: address_of(pattern) for pattern in gate_urls.urlpatterns if pattern.name in GATES}
    query = {"gate-run": "", "gate-ready-nodes": "?run=run-7&count=1"}
    return {
        name: client.get(address + query.get(name, "?run=run-7"), headers=headers).status_code
        for name, address in gates.items()
    }  # fmt: skip


# In JSON always 200 with the decision in it; in plain text 409, as the run is not signed.
ANSWERED = {200, 409}
OF_ITS_OWN_NODE = {"gate-node", "gate-text-node"}


@pytest.mark.parametrize("kind", ["nobody", "enrolment", "operator"])
def test_whoever_holds_no_gates_token_is_told_nothing_of_a_run(
    client: Client, headers: Callable[[str], Headers], kind: str
) -> None:
    assert set(_asked(client, headers(kind)).values()) == {401 if kind == "nobody" else 403}


def test_a_gates_token_asks_about_the_run_at_each_gate_of_its_cluster_and_of_no_other(
    client: Client, headers: Callable[[str], Headers]
) -> None:
    own, other = _asked(client, headers("gate")), _asked(client, headers("strange gate"))

    assert set(own.values()) <= ANSWERED
    assert set(other.values()) == {404}


def test_an_agent_asks_about_the_run_for_its_own_node_only(client: Client, headers: Callable[[str], Headers]) -> None:
    told = _asked(client, headers("agent"))

    assert {name: status in ANSWERED for name, status in told.items()} == {
        name: name in OF_ITS_OWN_NODE for name in GATES
    }
    assert {status for name, status in told.items() if name not in OF_ITS_OWN_NODE} == {403}
