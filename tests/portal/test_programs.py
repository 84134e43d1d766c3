"""Programs go straight to their view, and are told what they need all the same."""

import pytest
from django.test import Client
from django.utils import translation


def test_a_program_is_answered_in_english_whatever_the_last_page_spoke(client: Client) -> None:
    translation.activate("zh-hans")
    client.get("/healthz")

    assert translation.get_language() == "en"


def test_an_answer_says_how_long_it_is_and_what_a_browser_must_not_do_with_it(client: Client) -> None:
    response = client.get("/healthz")

    assert response["Content-Length"] == str(len(response.content))
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]


@pytest.mark.parametrize("address", ["/healthz", "/api/v1/clusters/lab/readiness", "/gate/lab", "/gate", "/metrics"])
def test_no_answer_to_a_program_depends_on_a_cookie_or_a_language(client: Client, address: str) -> None:
    assert "Vary" not in client.get(address, headers={"Accept-Language": "zh"})


@pytest.mark.django_db
def test_a_page_still_finds_its_language(client: Client) -> None:
    assert client.get("/accounts/login/", headers={"Accept-Language": "zh-hans"})["Content-Language"] == "zh-hans"
