"""The two calls of a node that measures links: what they take, what they answer, and who may make them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import time_machine
from django.test import Client

from checks.models import LinkTrial, TokenKind
from tests.lab import bearer
from tests.link_lab import LinkLab, link_lab

pytestmark = pytest.mark.django_db

READY: Mapping[str, Any] = {"address": "ib1.example", "cards": 2, "gpu_memory": True, "flow_s": 7}
CARD: Mapping[str, Any] = {
    "number": 0, "rate": 400.0, "pcie": 504.1, "mtu": 4096, "infiniband": True, "host": 389.5, "gpu": 389.5,
}  # fmt: skip
OUTCOME: Mapping[str, Any] = {
    "cards": [CARD, {**CARD, "number": 1}], "together": 779.0, "message_size": 1048576, "seconds": 5.0, "problem": "",
}  # fmt: skip


@pytest.fixture
def lab() -> LinkLab:
    """Two nodes that are taken."""
    lab = link_lab(2)
    lab.take()
    return lab


def call(lab: LinkLab, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
    with time_machine.travel(lab.now, tick=False):
        return Client().post(
            f"/api/v1/nodes/{path}", data=json.dumps(body), content_type="application/json", headers=dict(headers)
        )


def as_agent(lab: LinkLab, name: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {lab.machines[name].token}"}


def ask(lab: LinkLab, name: str, body: Mapping[str, Any] = READY) -> Any:
    return call(lab, f"{name}/link-trials", body, as_agent(lab, name))


def test_a_node_waits_until_its_partner_has_asked_and_both_are_told_all_they_need(lab: LinkLab) -> None:
    first = ask(lab, "gpu001")
    second = ask(lab, "gpu002", {**READY, "cards": 8, "address": "2001:db8::2"})
    again = ask(lab, "gpu001")

    assert (first.status_code, first.json()) == (200, {"do": "wait", "seconds": 2, "why": "no partner is free"})
    assert {second.json()["role"], again.json()["role"]} == {"server", "client"}
    assert again.json() | {"role": ""} == {
        "do": "measure", "seconds": 170, "trial": LinkTrial.objects.get().pk, "role": "", "partner": "gpu002",
        "address": "2001:db8::2", "port": 18515, "cards": 2, "gpu_memory": True, "flow_s": 7,
    }  # fmt: skip


def test_what_both_ends_tell_ends_the_trial(lab: LinkLab) -> None:
    ask(lab, "gpu001")
    trial = ask(lab, "gpu002").json()["trial"]
    told = [call(lab, f"{name}/link-trials/{trial}", OUTCOME, as_agent(lab, name)) for name in ("gpu001", "gpu002")]

    assert [answer.status_code for answer in told] == [204, 204]
    ended = LinkTrial.objects.get()
    assert (ended.ended_at, ended.problem) == (lab.now, "")
    assert (ended.facts["host_share"], ended.facts["multi_flow_loss"]) == (0.9799, 0.0)
    assert ask(lab, "gpu001").json()["do"] == "done"


@pytest.mark.parametrize(
    "wrong",
    [
        {"address": "-o"}, {"address": "a b"}, {"address": "gpu;id"}, {"address": ""}, {"cards": 0}, {"cards": 17},
        {"flow_s": 0}, {"flow_s": 3600}, {"port": 22},
    ],
)  # fmt: skip
def test_an_offer_that_no_node_makes_is_refused(lab: LinkLab, wrong: Mapping[str, Any]) -> None:
    assert ask(lab, "gpu001", {**READY, **wrong}).status_code == 422


def test_a_rate_that_no_card_has_is_refused_and_the_trial_goes_on(lab: LinkLab) -> None:
    ask(lab, "gpu001")
    trial = ask(lab, "gpu002").json()["trial"]
    answer = call(
        lab, f"gpu001/link-trials/{trial}", {**OUTCOME, "cards": [{**CARD, "host": 1e9}]}, as_agent(lab, "gpu001")
    )

    assert answer.status_code == 422
    assert ask(lab, "gpu001").json()["trial"] == trial


@pytest.mark.parametrize("path", ["gpu001/link-trials", "gpu001/link-trials/1"])
def test_only_the_nodes_own_agent_measures(lab: LinkLab, path: str) -> None:
    body = READY if path.endswith("trials") else OUTCOME
    callers = {
        "nobody": {}, "another node": as_agent(lab, "gpu002"), "gate": bearer(TokenKind.GATE, lab.cluster),
        "operator": bearer(TokenKind.OPERATOR, lab.cluster),
        "enrolment": bearer(TokenKind.ENROLMENT, cluster=lab.cluster),
    }  # fmt: skip
    answers = {who: call(lab, path, body, headers) for who, headers in callers.items()}

    assert {who: (answer.status_code, answer.json()["code"]) for who, answer in answers.items()} == {
        "nobody": (401, "token_required"), "another node": (403, "wrong_node"), "gate": (403, "missing_scope"),
        "operator": (403, "missing_scope"), "enrolment": (403, "missing_scope"),
    }  # fmt: skip
    assert not LinkTrial.objects.exists()


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_nothing_can_be_read_or_taken_back(lab: LinkLab, method: str) -> None:
    address = "/api/v1/nodes/gpu001/link-trials"

    assert getattr(Client(), method)(address, headers=as_agent(lab, "gpu001")).status_code == 405


def test_a_node_that_is_not_taken_and_a_trial_of_others_are_named(lab: LinkLab) -> None:
    free = link_lab_alone(lab)

    assert (free.status_code, free.json()["code"]) == (409, "not_taken")
    other = call(lab, "gpu001/link-trials/4711", OUTCOME, as_agent(lab, "gpu001"))
    assert (other.status_code, other.json()["code"]) == (404, "no_such_trial")


def link_lab_alone(lab: LinkLab) -> Any:
    """The answer to a node whose claim has ended."""
    with time_machine.travel(lab.now, tick=False):
        Client().delete("/api/v1/nodes/gpu002/claim", headers=dict(as_agent(lab, "gpu002")))
    return ask(lab, "gpu002")


def test_a_host_name_with_an_underscore_is_a_partner_as_any_other(lab: LinkLab) -> None:
    assert ask(lab, "gpu001", {**READY, "address": "gpu_001.rack-1"}).status_code == 200


@pytest.mark.parametrize("trial", [2**31, 2**63, 10**40])
def test_a_trial_beyond_all_numbers_is_one_that_is_not_there(lab: LinkLab, trial: int) -> None:
    answer = call(lab, f"gpu001/link-trials/{trial}", OUTCOME, as_agent(lab, "gpu001"))

    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_trial")


@pytest.mark.parametrize("problem", ["\0", "\ud800", "\u202e" * 250])
def test_what_went_wrong_may_hold_any_character(lab: LinkLab, problem: str) -> None:
    ask(lab, "gpu001")
    trial = ask(lab, "gpu002").json()["trial"]
    answer = call(lab, f"gpu001/link-trials/{trial}", {**OUTCOME, "problem": problem}, as_agent(lab, "gpu001"))

    assert answer.status_code == (400 if problem == "\ud800" else 204), answer.content
