"""Who may open and who may do what about sign-off: every address, by every kind of caller."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.test import Client
from django.urls import resolve
from pytest_django import Settings

from checks.models import (
    AttestedFile,
    Delegation,
    Override,
    PolicyApproval,
    PolicyVersion,
    Revocation,
    Role,
    SettingItemAct,
    Signature,
    TokenKind,
    Waiver,
)
from checks.services.attestations import attest
from checks.services.attested_files import SentFile
from checks.services.delegations import delegate
from checks.services.overrides import force_open
from checks.services.proofs import Proof
from checks.services.setting_items import make_setting_item
from checks.services.tokens import issue_token
from checks.services.waivers import ask_waiver
from portal.accounts.models import User
from portal.ui.urls import urlpatterns
from tests.fleet import Fleet, person
from tests.ui.conftest import seen_by
from tests.ui.signing import RUN, SIGN_DATA, Lab, make_lab, sent
from tests.ui.test_step_up import FORM as POLICY
from tests.ui.test_step_up import prove

CLUSTER = "/clusters/helios/"
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LOOK, ACT, LEAD, STATE = "look", "act", "lead", "state"
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 64
PRINTER = """#!/bin/sh
for one; do case $one in --print-to-pdf=*) echo %PDF- > "${one#*=}";; esac; done
"""


@dataclass(frozen=True, slots=True)
class Address:
    """One address, and who may GET it: whoever sees the cluster, whoever works in it, or whoever leads it.

    Who may state a result is asked for a proof before the form.
    """

    path: str
    who: str


@dataclass(frozen=True, slots=True)
class Acts:
    """What was done in the lab, so that it can be agreed to, ended and looked at; by their numbers in addresses."""

    signature: int
    waiver: int
    override: int
    delegation: int
    policy: int
    evidence: str
    setting: int


def addresses(acts: Acts) -> list[Address]:
    """Every address of runs and sign-off."""
    return [
        Address("/runs/", LOOK),
        Address(RUN, LOOK),
        Address(f"{RUN}history/", LOOK),
        Address(f"{RUN}record/", LOOK),
        Address(f"{RUN}record.pdf", LOOK),
        Address(f"{RUN}certificate.json", LOOK),
        Address(SIGN_DATA, LOOK),
        Address(f"{RUN}signatures/{acts.signature}/revoke/", LOOK),
        Address(f"{CLUSTER}policy/", LOOK),
        Address(f"{CLUSTER}delegations/", LOOK),
        Address(f"{CLUSTER}evidence/{acts.evidence}", LOOK),
        Address(f"{CLUSTER}runs/new/", ACT),
        Address(f"{CLUSTER}runs/preview/", ACT),
        Address(f"{RUN}change/", ACT),
        Address(f"{RUN}stage/", ACT),
        Address(f"{RUN}waivers/new/", ACT),
        Address(f"{RUN}waivers/{acts.waiver}/agree/", ACT),
        Address(f"{RUN}waivers/{acts.waiver}/end/", ACT),
        Address(f"{CLUSTER}items/ops-runbook/state/", STATE),
        Address(f"{CLUSTER}policy/propose/", LEAD),
        Address(f"{CLUSTER}policy/{acts.policy}/approve/", LEAD),
        Address(f"{RUN}override/", LEAD),
        Address(f"{RUN}overrides/{acts.override}/end/", LEAD),
        Address(f"{RUN}started/", LEAD),
        Address(f"{RUN}restarted/", LEAD),
        Address(f"{RUN}replaced/", LEAD),
        Address(f"{CLUSTER}delegations/{acts.delegation}/end/", LEAD),
        Address(f"{CLUSTER}settings/{acts.setting}/accept/", LEAD),
        Address(f"{CLUSTER}settings/{acts.setting}/end/", LEAD),
    ]


ALLOWED = {
    LOOK: set(Role),
    ACT: set(Role) - {Role.VIEWER},
    LEAD: {Role.LEAD, Role.ADMIN},
    STATE: set(Role) - {Role.VIEWER},
}


@pytest.fixture
def lab(fleet: Fleet, now: datetime, settings: Settings, tmp_path: Path) -> Lab:
    """With a place for evidence, a key that seals certificates, and a stand-in for the program that prints."""
    key, printer = tmp_path / "ledger-key.pem", tmp_path / "printer"
    key.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    printer.write_text(PRINTER, encoding="utf-8")
    printer.chmod(0o755)
    settings.VAR_DIR, settings.LEDGER_KEY_FILE, settings.CHROMIUM = tmp_path, str(key), str(printer)
    lab = make_lab(fleet, now)
    sent(lab.sight("sable").client, SIGN_DATA)
    return lab


@pytest.fixture
def asked(lab: Lab, now: datetime) -> list[Address]:
    return addresses(_done(lab, now))


def _done(lab: Lab, now: datetime) -> Acts:
    """Quill, the lead, does one of each."""
    quill, cluster, proof = lab.people["quill"], lab.fleet.cluster, Proof("password", now, None, "a browser")
    lena = person("lena", cluster, Role.LEAD)
    stated = attest(
        cluster=cluster, run=lab.run, node=None, item="ops-runbook", subject="", facts={"confirmed": False},
        statement="Half of it is missing.", files=[SentFile("board.png", PNG)], valid_until=now + DAY,
        by=lab.people["ember"], now=now + MINUTE,
    )  # fmt: skip
    common: dict[str, Any] = {"reason": "seen to", "proof": proof, "now": now}
    lab.sight("quill").client.post(f"{CLUSTER}policy/propose/", POLICY)
    waiver = ask_waiver(run=lab.run, item="ops-runbook", nodes="", until=now + DAY, by=quill, role="lead", **common)
    override = force_open(run=lab.run, by=quill, ticket="OPS-1", until=now + HOUR, **common)
    given = delegate(
        cluster=cluster, role="lead", giver=quill, receiver=lena, starts_at=now, ends_at=now + DAY, **common
    )
    made = make_setting_item(
        cluster=cluster, name="sysctl:vm.overcommit_memory", equals="1", by=quill, reason="seen to", now=now
    )
    return Acts(
        setting=made.pk,
        signature=Signature.objects.get().pk,
        waiver=waiver.pk,
        override=override.pk,
        delegation=given.pk,
        policy=PolicyVersion.objects.get().number,
        evidence=AttestedFile.objects.get(attestation__item=stated.item).digest,
    )


# Pages of machines and of the whole site; and the verifier, which is the same file for everybody who is signed in.
NOT_OF_SIGN_OFF = {
    "board", "clusters", "cluster", "cluster_csv", "enrol", "revoke_enrolment", "item", "node", "decision", "recheck",
    "node_item", "status", "verifier", "costs", "costs_csv", "costs_curve", "prices",
    "price_cluster", "cost_article", "cost_article_csv", "rates", "keep_estimate", "estimate", "estimate_csv",
    "read_bill",
    "drift", "drift_csv", "make_setting", "add_evidence", "tool_output",
    "back_test", "back_test_csv", "propose_threshold", "accept_threshold",  # tests/ui/test_learning.py
}  # fmt: skip


def test_no_address_of_sign_off_is_left_out(asked: list[Address]) -> None:
    held = {resolve(one.path).url_name for one in asked}
    others = {route.name for route in urlpatterns if "incidents/" in str(route.pattern)}  # tests/ui/test_incidents.py

    assert held | NOT_OF_SIGN_OFF | others == {route.name for route in urlpatterns}
    assert not held & NOT_OF_SIGN_OFF


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
        opened = 302 if one.who == STATE else 200
        expected = opened if role in ALLOWED[one.who] else 403
        response = client.get(one.path)
        assert response.status_code == expected, (one.path, role)
        b"".join(response)  # a file is closed once it was read


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


# Pages that are looked at, and what people do to a run that nobody signs for.
WITHOUT_PROOF = (
    "/runs/new/", "/preview/", "/change/", "/stage/", "/history/", "/record/", "/started/", "/restarted/", "/replaced/",
    "/state/",
)  # fmt: skip


def _counted() -> tuple[int, ...]:
    kinds = (Signature, Revocation, Waiver, Override, Delegation, PolicyVersion, PolicyApproval, SettingItemAct)
    return tuple(kind.objects.count() for kind in kinds)


@pytest.mark.parametrize("role", list(Role))
def test_no_act_of_sign_off_is_done_without_a_fresh_proof(lab: Lab, asked: list[Address], role: Role) -> None:
    client = seen_by(person(f"some-{role}", lab.fleet.cluster, role)).client
    before = _counted()
    for one in asked:
        if not one.path.endswith(WITHOUT_PROOF):
            response = client.post(one.path, POLICY | {"meaning": "reviewed", "role": "lead", "digest": "0" * 64})
            assert response.status_code in (302, 405), one.path
    assert _counted() == before


@pytest.mark.parametrize("role", sorted(set(Role) - ALLOWED[LEAD]))
def test_a_fresh_proof_gives_no_role_what_it_may_not_do(lab: Lab, asked: list[Address], role: Role) -> None:
    client = seen_by(person(f"some-{role}", lab.fleet.cluster, role)).client
    prove(client, "/")
    before = _counted()
    closed = [one for one in asked if role not in ALLOWED[one.who]]
    for one in closed:
        response = client.post(one.path, POLICY | {"role": "lead", "item": "ops-runbook", "hours": "1", "ticket": "x"})
        assert response.status_code in (403, 405), (one.path, role)
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
