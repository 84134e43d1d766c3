"""``POST /api/v1/agent/fingerprint``: who may tell, in which form, and what is refused in which words."""

import gzip
import json
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from checks.models import Fingerprint, NodeFingerprint, TokenKind
from checks.services.fingerprint_v1 import fingerprint_digest
from checks.services.tokens import issue_token
from tests.factories import Machine, enrolled_machine, make_cluster

PATH = "/api/v1/agent/fingerprint"
SETTINGS: dict[str, str | None] = {"sysctl:vm.swappiness": "1", "sysctl:vm.hidden": None}
DIGEST = fingerprint_digest(["sysctl"], SETTINGS)
WHOLE = {"schema": 1, "sha256": DIGEST, "kinds": ["sysctl"], "settings": SETTINGS}

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster(), "gpu-001")


def post(body: Any, token: str = "", **headers: str) -> HttpResponse:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return Client().post(PATH, raw, content_type="application/json", headers=headers)


def test_the_digest_is_told_first_and_the_settings_where_they_are_wanted(machine: Machine) -> None:
    short = {"schema": 1, "sha256": DIGEST}

    assert post(short, machine.token).json() == {"wanted": True}
    assert post(WHOLE, machine.token).json() == {"wanted": False}
    assert post(short, machine.token).json() == {"wanted": False}
    assert NodeFingerprint.objects.get(node=machine.node).fingerprint_id == DIGEST


def test_it_may_come_compressed(machine: Machine) -> None:
    packed = gzip.compress(json.dumps(WHOLE).encode())

    assert post(packed, machine.token, **{"Content-Encoding": "gzip"}).json() == {"wanted": False}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({**WHOLE, "sha256": "0" * 64}, 422, "bad_fingerprint"),
        ({**WHOLE, "sha256": "x"}, 422, "invalid_body"),
        ({**WHOLE, "more": 1}, 422, "invalid_body"),
        ({**WHOLE, "schema": 2}, 422, "unsupported_schema"),
        ({**WHOLE, "settings": {"sysctl:a": "x" * 501}}, 422, "invalid_body"),
        ({**WHOLE, "settings": {"sysctl:a": 5}}, 422, "invalid_body"),
        (b"{", 400, "bad_json"),
    ],
)
def test_what_is_wrong_is_refused_by_its_code_and_nothing_is_kept(
    machine: Machine, body: Any, status: int, code: str
) -> None:
    answer = post(body, machine.token)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not Fingerprint.objects.exists()


def test_nobody_tells_without_a_token() -> None:
    assert post(WHOLE).status_code == 401


@pytest.mark.parametrize("kind", [TokenKind.GATE, TokenKind.ENROLMENT, TokenKind.OPERATOR])
def test_a_token_of_another_kind_tells_nothing(machine: Machine, kind: TokenKind) -> None:
    now = timezone.now()
    _row, secret = issue_token(
        kind=kind, cluster=machine.cluster, created_by=None, now=now, expires_at=now + timedelta(hours=1)
    )

    answer = post(WHOLE, secret)

    assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")
    assert not Fingerprint.objects.exists()


def test_a_node_that_was_taken_out_tells_nothing(machine: Machine) -> None:
    node = machine.node
    node.retired_at = timezone.now()
    node.save()

    assert post(WHOLE, machine.token).json()["code"] == "node_retired"
