"""What `manage.py check` refuses."""

from typing import Any

import pytest
from django.test import override_settings

from checks import system_checks

LONG = "s" * 50


def ids(messages: list[Any]) -> list[str]:
    return [message.id for message in messages]


@override_settings(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3"}})
@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
def test_another_database_than_postgresql_is_an_error() -> None:
    assert ids(system_checks.database_is_postgresql()) == ["countersign.E001"]


@override_settings(SECRET_KEY="short", TOKEN_PEPPERS={1: LONG})
def test_a_short_secret_key_is_an_error() -> None:
    assert ids(system_checks.secrets_are_set()) == ["countersign.E002"]


@override_settings(SECRET_KEY=LONG, TOKEN_PEPPERS={})
def test_missing_peppers_are_an_error() -> None:
    assert ids(system_checks.secrets_are_set()) == ["countersign.E003"]


@override_settings(SECRET_KEY=LONG, TOKEN_PEPPERS={1: LONG})
def test_long_secrets_are_fine() -> None:
    assert system_checks.secrets_are_set() == []


@pytest.mark.parametrize("url", ["https://portal.example", "http://127.0.0.1:8000", "http://localhost:8000"])
def test_tls_and_loopback_are_fine(url: str) -> None:
    with override_settings(PORTAL_URL=url):
        assert system_checks.portal_is_reached_over_tls() == []


@override_settings(PORTAL_URL="http://portal.example")
def test_a_portal_without_tls_is_a_warning() -> None:
    assert ids(system_checks.portal_is_reached_over_tls()) == ["countersign.W002"]


@pytest.mark.django_db
def test_a_current_server_and_a_weak_role_are_fine() -> None:
    assert system_checks.server_and_role_are_fit(databases=["default"]) == []


@pytest.mark.django_db
def test_an_old_server_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_checks, "OLDEST_SERVER", 990000)
    assert ids(system_checks.server_and_role_are_fit(databases=["default"])) == ["countersign.E004"]


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_serving_as_the_owner_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_checks, "connections", {"default": system_checks.connections["owner"]})
    assert ids(system_checks.server_and_role_are_fit(databases=["default"])) == ["countersign.W001"]
