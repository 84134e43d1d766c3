"""Headers and files that every page relies on."""

from importlib.resources import files

import pytest
from django.contrib.staticfiles import finders
from django.test import Client


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
