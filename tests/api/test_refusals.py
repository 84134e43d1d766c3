"""Requests that never reach a view: a program is told in its own language all the same."""

import pytest
from django.conf import settings
from django.test import Client

from tests.lab import database_away

pytestmark = pytest.mark.django_db


def test_a_shell_that_calls_the_portal_by_another_name_reads_text(client: Client) -> None:
    response = client.get("/gate/lab", headers={"Host": "elsewhere.example"})

    assert (response.status_code, response["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert response.content.startswith(b"unknown\nbad_request: ")


def test_a_program_that_calls_the_portal_by_another_name_reads_a_problem(client: Client) -> None:
    response = client.get("/api/v1/clusters/lab/readiness", headers={"Host": "elsewhere.example"})

    assert (response.status_code, response.json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize("address", ["/gate/lab", "/api/v1/clusters/lab/readiness"])
def test_a_browsers_cookie_means_nothing_to_a_program(client: Client, address: str) -> None:
    client.cookies[settings.SESSION_COOKIE_NAME] = "0123456789abcdefghijklmnopqrstuv"
    with database_away():
        response = client.get(address)

    assert response.status_code == 401
    assert b"<html" not in response.content.lower()


@pytest.mark.parametrize("address", ["/gate/lab", "/api/v1/clusters/lab/readiness"])
def test_a_token_while_the_database_is_away_brings_no_page(client: Client, address: str) -> None:
    with database_away():
        response = client.get(address, headers={"Authorization": "Bearer cs_gate_abcdefgh_secret"})

    assert response.status_code == 503
    assert b"unknown" in response.content
    assert b"<html" not in response.content.lower()


@pytest.mark.parametrize("address", ["/healthz", "/agent/install.sh"])
def test_what_asks_no_database_does_not_need_one_for_a_browsers_cookie(client: Client, address: str) -> None:
    client.cookies[settings.SESSION_COOKIE_NAME] = "0123456789abcdefghijklmnopqrstuv"
    with database_away():
        assert client.get(address).status_code == 200


def test_a_page_while_the_database_is_away_asks_to_come_back(client: Client) -> None:
    client.raise_request_exception = False
    client.cookies[settings.SESSION_COOKIE_NAME] = "0123456789abcdefghijklmnopqrstuv"
    with database_away():
        response = client.get("/")

    assert (response.status_code, response["Retry-After"]) == (503, "5")
