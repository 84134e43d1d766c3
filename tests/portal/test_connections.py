"""Kept connections are asked whether they live once in a while, and a dead one costs one request."""

from collections.abc import Iterator

import pytest
from django.core.signals import request_finished, request_started
from django.db import OperationalError, connection

from portal.connections import TRUSTED_S, trust_fresh_connections


@pytest.fixture(autouse=True)
def kept(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This thread's connection is kept between requests, and trusted while it is fresh."""
    # Ours must stand after Django's, which Django's test client puts back at the end of the line.
    request_started.disconnect(dispatch_uid="connections.trust")
    request_finished.disconnect(dispatch_uid="connections.note")
    trust_fresh_connections()
    connection.close()
    connection.proved_at = -TRUSTED_S  # type: ignore[attr-defined]
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 600)
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", True)
    yield
    connection.close()
    request_started.disconnect(dispatch_uid="connections.trust")
    request_finished.disconnect(dispatch_uid="connections.note")


def request() -> None:
    """One request of this thread, that asks the database something."""
    request_started.send(sender=None)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        request_finished.send(sender=None)


def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Notes each time that the connection is asked whether it lives."""
    seen: list[bool] = []
    is_usable = connection.is_usable
    monkeypatch.setattr(connection, "is_usable", lambda: seen.append(True) or is_usable())
    return seen


def test_a_connection_that_answered_a_moment_ago_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    request()
    seen = asked(monkeypatch)
    request()
    request()

    assert seen == []


def test_a_connection_is_asked_again_after_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    request()
    seen = asked(monkeypatch)
    connection.proved_at -= TRUSTED_S  # type: ignore[attr-defined]
    request()
    request()

    assert seen == [True]


def test_a_connection_that_died_meanwhile_costs_one_request() -> None:
    request()
    assert connection.connection is not None
    connection.connection.close()
    with pytest.raises(OperationalError):
        request()

    request()
