"""What `manage.py check` refuses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from django.core.checks import run_checks
from django.db import OperationalError
from django.test import override_settings
from django.utils import timezone

from checks import system_checks
from checks.services.heartbeats import note_alive
from portal.quickstart.place import Place
from portal.quickstart.sockets import make_socket_directory
from portal.quickstart.unprivileged import Identity

LONG = "a long secret for tests, of fifty characters or more"
PUBLIC = "https://portal.example"


def ids(messages: list[Any]) -> list[str]:
    return [message.id for message in messages]


@override_settings(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3"}})
@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
def test_another_database_than_postgresql_is_an_error() -> None:
    assert ids(system_checks.database_is_postgresql()) == ["countersign.E001"]


@pytest.mark.parametrize("secret", ["", "short", "x" * 60, f"django-insecure-{LONG}"])
def test_a_secret_key_that_is_missing_short_or_a_default_is_an_error(secret: str) -> None:
    with override_settings(SECRET_KEY=secret, TOKEN_PEPPERS={1: LONG}):
        assert ids(system_checks.secrets_are_set()) == ["countersign.E002"]


@override_settings(SECRET_KEY=LONG, TOKEN_PEPPERS={})
def test_missing_peppers_are_an_error() -> None:
    assert ids(system_checks.secrets_are_set()) == ["countersign.E003"]


@override_settings(SECRET_KEY=LONG, TOKEN_PEPPERS={1: LONG})
def test_long_secrets_are_fine() -> None:
    assert system_checks.secrets_are_set() == []


@pytest.mark.parametrize(("debug", "found"), [(True, ["countersign.E005"]), (False, [])])
def test_debug_is_an_error_in_a_deployment(debug: bool, found: list[str]) -> None:
    with override_settings(DEBUG=debug):
        assert ids(system_checks.debug_is_off()) == found


@pytest.mark.parametrize("url", [PUBLIC, "http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"])
def test_tls_and_loopback_are_fine(url: str) -> None:
    with override_settings(PORTAL_URL=url):
        assert system_checks.portal_is_reached_over_tls() == []


@pytest.mark.parametrize("url", ["http://portal.example", "http://127.0.0.1.portal.example", "http://10.0.0.7:8000"])
def test_a_portal_for_others_without_tls_is_an_error(url: str) -> None:
    with override_settings(PORTAL_URL=url):
        assert ids(system_checks.portal_is_reached_over_tls()) == ["countersign.E006"]


@pytest.fixture
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory as the quickstart makes it for its servers."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    directory = make_socket_directory(Identity(), note=tmp_path / "note")
    yield directory
    directory.rmdir()


@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
def test_embedded_servers_for_other_machines_are_an_error_each(sockets: Path) -> None:
    embedded = {"DATABASES": {"default": {"HOST": str(sockets)}}, "REDIS_URL": f"unix://{sockets}/valkey.sock?db=0"}

    with override_settings(PORTAL_URL=PUBLIC, **embedded):
        assert ids(system_checks.servers_are_not_the_quickstarts()) == ["countersign.E008", "countersign.E008"]
    with override_settings(PORTAL_URL="http://127.0.0.1:8000", **embedded):
        assert system_checks.servers_are_not_the_quickstarts() == []


@pytest.mark.parametrize("host", ["db.example", "", "/var/run/postgresql"])
@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
def test_servers_of_ones_own_are_fine(host: str) -> None:
    servers = {"DATABASES": {"default": {"HOST": host}}, "REDIS_URL": "redis://broker/0"}
    with override_settings(PORTAL_URL=PUBLIC, **servers):
        assert system_checks.servers_are_not_the_quickstarts() == []


@pytest.mark.django_db
def test_a_current_server_and_a_weak_role_are_fine() -> None:
    assert system_checks.server_is_new_enough(databases=["default"]) == []
    assert system_checks.serving_role_is_weak(databases=["default"]) == []


@pytest.mark.django_db
def test_an_old_server_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_checks, "OLDEST_SERVER", 990000)
    assert ids(system_checks.server_is_new_enough(databases=["default"])) == ["countersign.E004"]


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_serving_as_the_owner_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_checks, "connections", {"default": system_checks.connections["owner"]})
    assert ids(system_checks.serving_role_is_weak(databases=["default"])) == ["countersign.E007"]


@pytest.mark.django_db
def test_a_worker_and_a_beat_that_nobody_saw_are_a_warning_each() -> None:
    assert ids(system_checks.workers_have_been_seen(databases=["default"])) == ["countersign.W003"] * 2

    note_alive(name="worker", now=timezone.now())

    (left,) = system_checks.workers_have_been_seen(databases=["default"])
    assert left.msg == "No beat has ever been seen by this database."


@pytest.mark.django_db
def test_before_the_first_migration_nobody_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    system_checks.connections["default"].cursor().execute("SET LOCAL search_path TO pg_temp")

    assert system_checks.workers_have_been_seen(databases=["default"]) == []


def test_a_database_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(statement: str) -> None:
        raise OperationalError("connection failed: Connection refused\n\tIs the server running?")

    monkeypatch.setattr(system_checks, "_one", refuse)
    (found,) = system_checks.server_is_new_enough(databases=["default"])

    assert (found.id, found.msg) == (
        "countersign.E009",
        "The database does not answer: connection failed: Connection refused",
    )


def test_without_database_no_check_asks_one() -> None:
    assert [
        one for one in run_checks(include_deployment_checks=True) if one.id in ("countersign.E009", "countersign.W003")
    ] == []


def test_a_portal_without_a_key_for_its_ledger_is_an_error() -> None:
    with override_settings(LEDGER_KEY_FILE=""):
        assert ids(system_checks.ledger_can_be_signed()) == ["countersign.E010"]


def test_a_key_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    with override_settings(LEDGER_KEY_FILE=str(tmp_path / "absent")):
        (found,) = system_checks.ledger_can_be_signed()

    assert found.id == "countersign.E010"
    assert f"{tmp_path / 'absent'} cannot be read" in found.msg


def test_the_public_half_of_a_key_is_not_enough(tmp_path: Path) -> None:
    private = load_pem_private_key(Place(tmp_path).ledger_key().read_bytes(), password=None)
    half = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "half").write_bytes(half)
    with override_settings(LEDGER_KEY_FILE=str(tmp_path / "half")):
        assert ids(system_checks.ledger_can_be_signed()) == ["countersign.E010"]


def test_the_quickstarts_key_is_fine(tmp_path: Path) -> None:
    with override_settings(LEDGER_KEY_FILE=str(Place(tmp_path).ledger_key())):
        assert system_checks.ledger_can_be_signed() == []


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ([], ["countersign.W004"]),
        (["anchors"], ["countersign.E011"]),
        (["mailto:audit"], ["countersign.E011"]),
        (["s3://bucket/anchors"], ["countersign.E011"]),
        (["/" + "x" * 300], ["countersign.E011"]),
        (["/srv/anchors", "mailto:audit@example.org"], []),
    ],
)
def test_where_anchors_are_told_is_a_whole_path_or_an_address(places: list[str], found: list[str]) -> None:
    with override_settings(LEDGER_ANCHORS=places):
        assert ids(system_checks.ledger_is_anchored_outside()) == found


@pytest.mark.parametrize(
    ("mails", "file", "found"),
    [
        (False, None, ["countersign.W005"]),
        (True, None, []),
        (False, '[destinations]\n"*" = ["json://127.0.0.1/x"]', []),
        (True, '[destinations]\n"*" = ["nonsense://x"]', ["countersign.E012"]),
    ],
    ids=["nobody is told", "mail", "a hook", "a wrong file"],
)
def test_a_deployment_that_tells_nobody_is_warned_of(
    tmp_path: Path, mails: bool, file: str | None, found: list[str]
) -> None:
    place = tmp_path / "notify.toml"
    place.write_text(file or "", encoding="utf-8")
    with override_settings(MAILS_PEOPLE=mails, NOTIFY_FILE=str(place) if file else ""):
        assert ids(system_checks.somebody_is_told()) == found


def test_a_notify_file_that_is_not_there_is_an_error() -> None:
    with override_settings(MAILS_PEOPLE=True, NOTIFY_FILE="/nowhere/notify.toml"):
        assert ids(system_checks.somebody_is_told()) == ["countersign.E012"]


@pytest.mark.parametrize(
    ("issuer", "found"),
    [
        ("https://id.example.org", []),
        ("http://127.0.0.1:9000", []),
        ("http://id.example.org", ["countersign.E013"]),
    ],
)
def test_an_identity_provider_without_tls_is_an_error(issuer: str, found: list[str]) -> None:
    providers = {"sso": {"APPS": [{"settings": {"server_url": issuer}}]}}
    with override_settings(SOCIALACCOUNT_PROVIDERS=providers):
        assert ids(system_checks.identities_come_over_tls()) == found
