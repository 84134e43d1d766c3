"""Bringing nodes in through the page."""

import re
from datetime import datetime

import pytest
from django.utils import timezone

from checks.models import LedgerEntry, Role, Token, TokenKind
from checks.services.enrolment import Enrolment, enrol_node
from tests.fleet import Fleet, person
from tests.ui.conftest import Sight, seen_by

PAGE = "/clusters/helios/enrol/"
TERMS = {"uses": "2", "hours": "4", "hostname_pattern": "gpu-*", "networks": "10.20.0.0/16, 127.0.0.0/8"}


@pytest.fixture
def lena(fleet: Fleet) -> Sight:
    """The lead of helios."""
    return seen_by(person("lena", fleet.cluster, Role.LEAD, display_name="Lena"))


def _issue(lena: Sight) -> str:
    page = lena.client.post(PAGE, TERMS).content.decode()
    secret = re.search(r"cs_enrolment_\w{8}_[\w-]+", page)
    assert secret, page
    return secret[0]


def test_a_token_is_shown_once_and_enrols_a_node(lena: Sight) -> None:
    secret = _issue(lena)
    assert secret not in lena.text(PAGE)
    asked = Enrolment(hostname="gpu-100", serials={}, boot_id="b", agent_version="0.1.0", origin="live")
    assert (
        enrol_node(bearer=secret, enrolment=asked, address="127.0.0.1", now=timezone.now()).node.hostname == "gpu-100"
    )


def test_a_token_ends_as_the_form_says_and_stands_in_the_ledger(lena: Sight, now: datetime) -> None:
    _issue(lena)
    token = Token.objects.filter(kind=TokenKind.ENROLMENT).latest("created_at")
    assert token.expires_at is not None
    assert 3.9 * 3600 < (token.expires_at - now).total_seconds() < 4.1 * 3600
    assert (token.uses_left, token.hostname_pattern) == (2, "gpu-*")
    assert token.networks == ["10.20.0.0/16", "127.0.0.0/8"]
    assert LedgerEntry.objects.filter(what="token_issued", who__username="lena").exists()


def test_the_page_with_a_secret_is_stored_nowhere(lena: Sight) -> None:
    assert lena.client.post(PAGE, TERMS).headers["Cache-Control"] == "private, no-store"


def test_a_wrong_network_is_told_beside_its_field_and_issues_nothing(lena: Sight) -> None:
    before = Token.objects.count()
    response = lena.client.post(PAGE, TERMS | {"networks": "10.20.0.0/99"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "10.20.0.0/99 is not a network; write it like 10.20.0.0/16." in page
    assert 'aria-invalid="true"' in page
    assert Token.objects.count() == before


def test_a_token_can_be_revoked_before_its_end(lena: Sight) -> None:
    key = _issue(lena).split("_")[2]
    lena.client.post(f"{PAGE}{key}/revoke/")
    assert Token.objects.get(key=key).revoked_at is not None
    assert f"cs_enrolment_{key}_" not in lena.client.get(PAGE).content.decode().split("Tokens in force")[-1]


def test_a_token_of_another_cluster_cannot_be_revoked_here(lena: Sight) -> None:
    assert lena.client.post(f"{PAGE}abcdefgh/revoke/").status_code == 404
