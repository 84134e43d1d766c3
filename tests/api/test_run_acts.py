"""What takes a person is refused to every token: each kind of token, at each act."""

from itertools import product
from typing import Any

import pytest
from django.test import Client

from checks.api.run_urls import PERSONS_ACTS
from checks.models import Cluster, TokenKind
from tests.lab import bearer, healthy_node, lab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

#: Sign, revoke, waive, approve, override, delegate, policy, grant a role; and their ends.
ACTS = {
    "sign": "/api/v1/runs/run-7/signatures",
    "revoke": "/api/v1/runs/run-7/signatures/1/revocation",
    "waive": "/api/v1/runs/run-7/waivers",
    "approve-waiver": "/api/v1/runs/run-7/waivers/1/approval",
    "end-waiver": "/api/v1/runs/run-7/waivers/1/end",
    "override": "/api/v1/runs/run-7/overrides",
    "end-override": "/api/v1/runs/run-7/overrides/1/end",
    "attest": "/api/v1/runs/run-7/attestations",
    "delegate": "/api/v1/clusters/lab/delegations",
    "end-delegation": "/api/v1/clusters/lab/delegations/1/end",
    "propose-policy": "/api/v1/clusters/lab/policies",
    "approve-policy": "/api/v1/clusters/lab/policies/1/approval",
    "grant-role": "/api/v1/clusters/lab/roles",
}


def headers_of(kind: TokenKind, cluster: Cluster) -> dict[str, str]:
    """A good token of that kind for *cluster*."""
    if kind == TokenKind.AGENT:
        return bearer(kind, node=healthy_node(cluster))
    return bearer(kind, cluster=cluster) if kind == TokenKind.ENROLMENT else bearer(kind, cluster)


def test_every_act_of_a_person_has_its_address_here() -> None:
    assert ACTS.keys() == PERSONS_ACTS.keys() | {"sign"}


@pytest.mark.parametrize(("kind", "act"), [*product(TokenKind, ACTS)])
def test_every_kind_of_token_is_refused_at_each_act(client: Client, kind: TokenKind, act: str) -> None:
    headers = headers_of(kind, lab())
    response: Any = client.post(ACTS[act], {"role": "lead"}, content_type="application/json", headers=headers)

    assert (response.status_code, response["Content-Type"]) == (403, "application/problem+json")
    assert response.json()["code"] == "browser_only"
    assert "Only a person at a browser" in response.json()["detail"]


@pytest.mark.parametrize("act", ACTS)
def test_without_a_token_nobody_is_told_more_than_that(client: Client, act: str) -> None:
    response: Any = client.post(ACTS[act], {}, content_type="application/json")

    assert (response.status_code, response.json()["code"]) == (401, "token_required")


def test_a_session_of_a_lead_is_no_token_either(client: Client, admin_user: Any) -> None:
    client.force_login(admin_user)
    response: Any = client.post(ACTS["sign"], {}, content_type="application/json")

    assert (response.status_code, response.json()["code"]) == (401, "token_required")
