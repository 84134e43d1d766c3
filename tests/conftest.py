"""What every test may use: a real PostgreSQL, a real Valkey, a real Chromium."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.test import TransactionTestCase
from pytest_django.plugin import DjangoDbBlocker

from portal.quickstart.valkey import ValkeyServer
from tests.databases import TestDatabases, throwaway_databases
from tests.ledger_guard import LedgerGuard

pytest_plugins = ["tests.chromium"]


def pytest_configure() -> None:
    """Settings of a test session that a deployment takes from its environment."""
    settings.SECRET_KEY = "for tests only: not a secret, and long enough to pass the checks"
    settings.TOKEN_PEPPERS = {1: "for tests only: pepper one, 32 characters"}
    settings.ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.WHITENOISE_AUTOREFRESH = settings.WHITENOISE_USE_FINDERS = True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright keeps an event loop in its process, and what runs after it would find that."""
    items.sort(key=lambda item: not {"browser", "journeys"}.isdisjoint(item.path.parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Journeys share a portal by their group: where the groups fall apart, they disturb each other and take twice."""
    apart = [item for item in session.items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid]
    if session.config.getoption("loadgroup", default=False) and apart:
        raise pytest.UsageError("pytest-xdist does not keep groups together with this pytest; see pyproject.toml.")


@pytest.fixture(scope="session")
def databases() -> Iterator[TestDatabases]:
    """The session's PostgreSQL server and its databases."""
    with throwaway_databases() as databases:
        yield databases


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: DjangoDbBlocker, databases: TestDatabases) -> Iterator[None]:
    """Replaces pytest-django's: migrated once as owner; committed tests get a copy of their own, never a flush."""
    patch = pytest.MonkeyPatch()
    with django_db_blocker.unblock():
        databases.prepare()
        patch.setattr(TransactionTestCase, "_fixture_setup", classmethod(lambda _: databases.use_fresh_copy()))
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: databases.drop_copy())
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def ledger_guard() -> Iterator[LedgerGuard]:
    """Whatever a test does in this process: no act locks a row after its entry in the ledger."""
    guard = LedgerGuard()
    with guard.watching():
        yield guard
    assert guard.faults == []


@pytest.fixture
def connect_as(transactional_db: None, databases: TestDatabases) -> Iterator[Callable[[str], psycopg.Connection]]:
    """Opens connections of one's own, as ``app`` or ``owner``: for tests of locks, grants and races."""
    opened: list[psycopg.Connection] = []

    def connect(role: str) -> psycopg.Connection:
        opened.append(psycopg.connect(databases.url(role)))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture(scope="session")
def valkey() -> Iterator[ValkeyServer]:
    """A Valkey of the session's own."""
    with tempfile.TemporaryDirectory(prefix="countersign-tests-") as place:
        server = ValkeyServer(Path(place) / "valkey", log=Path(place) / "valkey.log")
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="session")
def shared_captures() -> Path:
    """Real outputs that lie beside the repository; the one thing whose absence may skip a test."""
    place = Path(__file__).resolve().parents[2] / "shared" / "captures"
    if not place.is_dir():
        pytest.skip(f"{os.path.relpath(place)} is not here")
    return place


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names a case of raw bytes by their number: two workers must call it alike, and gzip writes down the time."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and not (len(val) <= 64 and val.isascii()) else None
