"""Addresses with NUL in them: whoever sends one is told so, and no view has to look for what cannot be there."""

import pytest
from django.test import Client
from django.utils import timezone

from checks.models import TokenKind
from tests.fleet import make_fleet
from tests.lab import bearer
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "address", ["/api/v1/runs?cluster=a%00b", "/api/v1/runs?stage=%00", "/api/v1/runs/a%00b", "/api/v1/estimates/%00"]
)
def test_a_program_that_asks_for_nul_is_told_what_is_wrong_with_its_address(address: str) -> None:
    headers = bearer(TokenKind.OPERATOR, make_fleet(at=timezone.now()).cluster)

    response = Client().get(address, headers=headers)

    assert (response.status_code, response.json()["code"]) == (400, "bad_request")
    assert "NUL" in response.json()["detail"]


def test_the_gate_tells_a_shell_that_it_cannot_tell() -> None:
    headers = bearer(TokenKind.GATE, make_fleet(at=timezone.now()).cluster)

    response = Client().get("/gate/helios?run=a%00b", headers=headers)

    assert response.status_code == 400
    assert response.content.startswith(b"unknown\nbad_request: ")


@pytest.mark.parametrize("address", ["/clusters/a%00b/", "/runs/a%00b/", "/runs/?q=%00", "/accounts/login/?next=%00"])
def test_a_person_is_shown_a_page_of_refusal_and_none_of_failure(address: str) -> None:
    client = Client()
    client.force_login(person("ada"))

    assert client.get(address).status_code == 400
