"""Settings from the environment: typed, and refused with one sentence."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from portal.environment import (
    broker_from_redis_url,
    database_from_url,
    env_bool,
    env_int,
    env_list,
    env_networks,
    env_peppers,
    env_secret,
)

KEY = "k" * 32


def test_a_secret_can_come_from_a_mounted_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from the file\n")
    monkeypatch.setenv("THE_SECRET_FILE", str(tmp_path / "secret"))
    assert env_secret("THE_SECRET") == "from the file"


def test_a_secret_file_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_SECRET_FILE", str(tmp_path / "secret"))
    with pytest.raises(ImproperlyConfigured, match="cannot be read: No such file"):
        env_secret("THE_SECRET")


def test_an_empty_secret_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("\n")
    monkeypatch.setenv("THE_SECRET_FILE", str(tmp_path / "secret"))
    with pytest.raises(ImproperlyConfigured, match="is empty"):
        env_secret("THE_SECRET")


def test_a_secret_given_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_SECRET", "one")
    monkeypatch.setenv("THE_SECRET_FILE", str(tmp_path / "secret"))
    with pytest.raises(ImproperlyConfigured, match="both set"):
        env_secret("THE_SECRET")


@pytest.mark.parametrize(("raw", "meant"), [("1", True), ("true", True), ("on", True), ("0", False), ("", False)])
def test_a_yes_or_no_is_read(raw: str, meant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", raw)
    assert env_bool("DEBUG", default=not meant) is meant


def test_what_is_neither_yes_nor_no_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "maybe")
    with pytest.raises(ImproperlyConfigured, match="neither yes nor no"):
        env_bool("DEBUG", default=False)


def test_a_number_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMAIL_PORT", "smtp")
    with pytest.raises(ImproperlyConfigured, match="not a whole number"):
        env_int("EMAIL_PORT", 25)


def test_a_list_is_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "a.example, b.example,")
    assert env_list("ALLOWED_HOSTS") == ["a.example", "b.example"]


def test_proxies_are_named_by_address_or_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", "10.0.0.1, 172.18.0.1/16,fd00::/8")
    assert env_networks("TRUSTED_PROXIES") == ["10.0.0.1/32", "172.18.0.0/16", "fd00::/8"]


@pytest.mark.parametrize("raw", ["*", "proxy.example", "10.0.0.0/240"])
def test_a_proxy_named_in_another_way_is_refused(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", raw)
    with pytest.raises(ImproperlyConfigured, match="addresses or networks"):
        env_networks("TRUSTED_PROXIES")


def test_peppers_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_PEPPERS", f"1:{KEY}, 2:{KEY}x")
    assert env_peppers("TOKEN_PEPPERS") == {1: KEY, 2: KEY + "x"}


@pytest.mark.parametrize("raw", [KEY, f"one:{KEY}", "1:short"])
def test_a_pepper_without_number_or_length_is_refused(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_PEPPERS", raw)
    with pytest.raises(ImproperlyConfigured, match="at least 32 characters"):
        env_peppers("TOKEN_PEPPERS")


def test_an_address_of_another_database_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="Only PostgreSQL is supported"):
        database_from_url("sqlite:///portal.db")


def test_a_database_address_is_taken_apart() -> None:
    database = database_from_url("postgresql://app:p%40ss@db.example:5433/portal?sslmode=verify-full")
    assert (database["USER"], database["PASSWORD"], database["HOST"]) == ("app", "p@ss", "db.example")
    assert (database["PORT"], database["NAME"]) == ("5433", "portal")
    assert database["OPTIONS"]["sslmode"] == "verify-full"


def test_a_database_beyond_a_cut_network_is_given_up_within_seconds() -> None:
    options = database_from_url("postgresql://app@db.example/portal")["OPTIONS"]
    assert (options["connect_timeout"], options["tcp_user_timeout"]) == ("2", "5000")
    assert database_from_url("postgresql://app@db/portal?connect_timeout=9")["OPTIONS"]["connect_timeout"] == "9"


def test_a_unix_socket_is_named_by_the_query() -> None:
    database = database_from_url("postgresql://app@/countersign?host=/run/sockets")
    assert (database["USER"], database["HOST"], database["NAME"]) == ("app", "/run/sockets", "countersign")


def test_a_password_of_its_own_fills_the_gap_and_never_replaces_one() -> None:
    assert database_from_url("postgresql://app@db/portal", password="file")["PASSWORD"] == "file"
    assert database_from_url("postgresql://app:url@db/portal", password="file")["PASSWORD"] == "url"


def test_the_broker_of_a_unix_socket_is_spelled_for_celery() -> None:
    assert broker_from_redis_url("unix:///run/v.sock?db=2") == "redis+socket:///run/v.sock?virtual_host=2"


def test_the_broker_of_a_network_address_is_that_address() -> None:
    assert broker_from_redis_url("redis://broker:6379/0") == "redis://broker:6379/0"
