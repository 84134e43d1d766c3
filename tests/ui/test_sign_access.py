"""Who may open and who may do what about sign-off: every address, by every kind of caller."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from django.test import Client

from checks.models import (
    Delegation,
    Override,
    PolicyApproval,
    PolicyVersion,
    Revocation,
    Role,
    Signature,
    TokenKind,
    Waiver,
)
from checks.services.tokens import issue_token
from portal.accounts.models import User
from tests.fleet import Fleet, person
from tests.ui.conftest import seen_by
from tests.ui.signing import RUN, SIGN_DATA, Lab, make_lab, sent
from tests.ui.test_step_up import FORM as POLICY

CLUSTER = "/clusters/helios/"
LOOK, ACT, LEAD = "look", "act", "lead"


@dataclass(frozen=True, slots=True)
class Address:
    """One address, and who may GET it: whoever sees the cluster, whoever works in it, or whoever leads it."""

    path: str
    who: str


def addresses(lab: Lab, signature: int) -> list[Address]:
    """Every address of runs and sign-off."""
    return [
        Address("/runs/", LOOK),
        Address(RUN, LOOK),
        Address(f"{RUN}history/", LOOK),
        Address(f"{RUN}record/", LOOK),
        Address(SIGN_DATA, LOOK),
        Address(f"{RUN}signatures/{signature}/revoke/", LOOK),
        Address(f"{CLUSTER}policy/", LOOK),
        Address(f"{CLUSTER}delegations/", LOOK),
        Address(f"{CLUSTER}runs/new/", ACT),
        Address(f"{CLUSTER}runs/preview/", ACT),
        Address(f"{RUN}change/", ACT),
        Address(f"{RUN}stage/", ACT),
        Address(f"{RUN}waivers/new/", ACT),
        Address(f"{CLUSTER}policy/propose/", LEAD),
        Address(f"{RUN}override/", LEAD),
    ]


ALLOWED = {
    LOOK: set(Role),
    ACT: set(Role) - {Role.VIEWER},
    LEAD: {Role.LEAD, Role.ADMIN},
}


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    lab = make_lab(fleet, now)
    sent(lab.sight("sable").client, SIGN_DATA)
    return lab


@pytest.fixture
def asked(lab: Lab) -> list[Address]:
    return addresses(lab, Signature.objects.get().pk)


def test_nobody_sees_any_of_it_without_signing_in(asked: list[Address]) -> None:
    for one in asked:
        _is_sent_to_sign_in(Client(), one.path)


def _is_sent_to_sign_in(client: Client, path: str) -> None:
    """By GET, and by POST where the address takes one at all."""
    for response in (client.get(path), client.post(path)):
        if response.status_code != 405:
            assert response.status_code == 302, path
            assert response.headers["Location"].startswith("/accounts/login/?next="), path
    assert client.get(path).status_code == 302


def test_a_stranger_cannot_tell_it_from_nothing(asked: list[Address]) -> None:
    omar = seen_by(person("omar")).client
    for one in asked[1:]:
        absent = one.path.replace("helios", "nowhere").replace("cygnus-13b", "nowhere")
        assert omar.get(one.path).status_code == omar.get(absent).status_code == 404, one.path
        assert omar.post(one.path).status_code in (404, 405, 302), one.path
    assert "cygnus-13b" not in omar.get("/runs/").content.decode()


@pytest.mark.parametrize("role", list(Role))
def test_each_role_opens_what_it_may_and_nothing_else(lab: Lab, asked: list[Address], role: Role) -> None:
    client = seen_by(person(f"some-{role}", lab.fleet.cluster, role)).client
    for one in asked:
        expected = 200 if role in ALLOWED[one.who] else 403
        assert client.get(one.path).status_code == expected, (one.path, role)


@pytest.mark.parametrize("kind", [TokenKind.AGENT, TokenKind.GATE, TokenKind.ENROLMENT, TokenKind.OPERATOR])
def test_no_token_of_any_kind_opens_or_does_anything(
    lab: Lab, asked: list[Address], now: datetime, kind: TokenKind
) -> None:
    node = lab.fleet.node("gpu-001") if kind is TokenKind.AGENT else None
    _token, secret = issue_token(
        kind=kind, cluster=lab.fleet.cluster, node=node, created_by=None, now=now, expires_at=now + timedelta(hours=1)
    )
    bearer = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    for one in asked:
        _is_sent_to_sign_in(Client(**bearer), one.path)


def _counted() -> tuple[int, ...]:
    kinds = (Signature, Revocation, Waiver, Override, Delegation, PolicyVersion, PolicyApproval)
    return tuple(kind.objects.count() for kind in kinds)


@pytest.mark.parametrize("role", list(Role))
def test_no_act_of_sign_off_is_done_without_a_fresh_proof(lab: Lab, asked: list[Address], role: Role) -> None:
    client = seen_by(person(f"some-{role}", lab.fleet.cluster, role)).client
    before = _counted()
    for one in asked:
        if not one.path.endswith(("/new/", "/preview/", "/change/", "/stage/", "/history/", "/record/")):
            response = client.post(one.path, POLICY | {"meaning": "reviewed", "role": "lead", "digest": "0" * 64})
            assert response.status_code in (302, 405), one.path
    assert _counted() == before


def test_an_administrator_of_the_site_leads_everywhere_and_signs_nowhere(lab: Lab) -> None:
    root = seen_by(User.objects.create_superuser("root"))
    root.text(f"{RUN}override/")
    assert "Your roles here are not asked for." in root.text(SIGN_DATA)


def test_forms_without_their_secret_are_refused(lab: Lab) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(lab.people["quill"])
    for path in (SIGN_DATA, f"{RUN}override/", f"{CLUSTER}policy/propose/"):
        assert client.post(path, POLICY).status_code == 403, path
