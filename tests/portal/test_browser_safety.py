"""Headers and files that every page relies on."""

from importlib.resources import files

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles import finders
from django.core.cache import cache
from django.test import Client


@pytest.fixture(autouse=True)
def no_guesses_so_far() -> None:
    """Guesses at passwords are counted across tests, too."""
    cache.clear()


@pytest.mark.django_db
def test_a_page_forbids_scripts_of_others(client: Client) -> None:
    policy = client.get("/accounts/login/").headers["Content-Security-Policy"].split("; ")
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.django_db
def test_nobody_signs_up_by_themselves(client: Client) -> None:
    answer = client.post("/accounts/signup/", {"username": "stranger", "password1": "p" * 20, "password2": "p" * 20})
    assert "sign up is currently closed" in answer.content.decode().lower()


def test_plotly_comes_from_the_installed_distribution() -> None:
    assert finders.find("plotly.min.js") == str(files("plotly") / "package_data" / "plotly.min.js")


def test_of_plotlys_files_only_the_library_is_served() -> None:
    assert finders.find("widgetbundle.js") is None


@pytest.mark.django_db
def test_the_admin_site_has_no_sign_in_of_its_own(client: Client) -> None:
    """Its own would know neither the limit on guesses nor a second factor."""
    answer = client.get("/admin/", follow=True)

    assert answer.redirect_chain[-1][0].startswith("/accounts/login/?next=%2Fadmin%2F")
    assert client.post("/admin/login/", {"username": "root", "password": "a guess"}).status_code == 302


@pytest.mark.django_db
def test_guessing_a_password_comes_to_an_end(client: Client) -> None:
    get_user_model().objects.create_user("ada", password="correct horse battery staple")
    for guess in range(12):
        client.post("/accounts/login/", {"login": "ada", "password": f"guess {guess}"})
    client.post("/accounts/login/", {"login": "ada", "password": "correct horse battery staple"})

    assert "_auth_user_id" not in client.session


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["password/reset/", "email/", "confirm-email/", "login/code/confirm/"])
def test_no_page_offers_an_e_mail_that_nobody_sends(client: Client, page: str) -> None:
    answer = client.post(f"/accounts/{page}", {"email": "ada@example.org"})

    assert answer.status_code == 404
    assert "changepassword" in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("elsewhere", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:a"])
def test_signing_in_leads_to_no_other_site(client: Client, elsewhere: str) -> None:
    get_user_model().objects.create_user("ada", password="correct horse battery staple")
    who = {"login": "ada", "password": "correct horse battery staple"}

    assert client.post(f"/accounts/login/?next={elsewhere}", who).headers["Location"] == "/"
    assert "_auth_user_id" in client.session


@pytest.mark.django_db
def test_a_session_begun_by_somebody_else_is_not_taken_over(client: Client) -> None:
    get_user_model().objects.create_user("ada", password="correct horse battery staple")
    client.session["planted"] = True
    client.cookies[settings.SESSION_COOKIE_NAME] = planted = "0123456789abcdefghijklmnopqrstuv"
    client.post("/accounts/login/", {"login": "ada", "password": "correct horse battery staple"})

    assert client.cookies[settings.SESSION_COOKIE_NAME].value != planted
    assert client.cookies[settings.SESSION_COOKIE_NAME]["httponly"]
    assert client.cookies[settings.SESSION_COOKIE_NAME]["samesite"] == "Lax"


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/nowhere", "/gate/nowhere", "/api/nowhere", "/healthz", "/accounts/login/"])
def test_every_answer_carries_the_policy(client: Client, address: str) -> None:
    assert "default-src 'self'" in client.get(address).headers["Content-Security-Policy"]
