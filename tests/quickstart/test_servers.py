"""Which servers the portal gets."""

import os
import signal
from pathlib import Path

import pytest
import redis

from portal.quickstart import binaries
from portal.quickstart.errors import QuickstartError
from portal.quickstart.place import Place
from portal.quickstart.servers import start_servers
from portal.quickstart.sockets import LONGEST_DIRECTORY, make_socket_directory
from portal.quickstart.unprivileged import Identity
from portal.quickstart.valkey import ValkeyServer
from tests.quickstart.conftest import wait_until

DATABASE_URL = "postgresql://app@db.example/countersign"
REDIS_URL = "redis://broker.example/0"


def test_addresses_from_the_environment_win_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", DATABASE_URL)
    monkeypatch.setenv("REDIS_URL", REDIS_URL)
    monkeypatch.delenv("DATABASE_OWNER_URL", raising=False)
    servers = start_servers(Place(tmp_path))
    assert (servers.database_url, servers.owner_url, servers.redis_url) == (DATABASE_URL, DATABASE_URL, REDIS_URL)
    assert servers.embedded == {}


def test_without_addresses_both_servers_are_started_and_the_roles_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    servers = start_servers(Place(tmp_path))
    assert set(servers.embedded) == {"postgres", "valkey"}
    assert servers.database_url.startswith("postgresql://app@")
    assert servers.owner_url.startswith("postgresql://owner@")
    servers.stop()


def test_wheels_come_before_the_systems_own_programs() -> None:
    assert "site-packages" in str(binaries.postgres_bin())
    assert "site-packages" in str(binaries.valkey_server())


def test_without_wheels_the_newest_system_postgresql_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for major in ("9", "15", "17"):
        directory = tmp_path / major / "bin"
        directory.mkdir(parents=True)
        for program in ("initdb", "postgres"):
            (directory / program).touch()
    monkeypatch.setattr(binaries, "POSTGRES_WHEELS", ())
    monkeypatch.setattr(binaries, "POSTGRES_SYSTEM", tmp_path)
    assert binaries.postgres_bin() == tmp_path / "17" / "bin"


def test_without_any_postgresql_one_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "POSTGRES_WHEELS", ())
    monkeypatch.setattr(binaries, "POSTGRES_SYSTEM", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(QuickstartError, match=r"^No PostgreSQL found: .*DATABASE_URL\.$"):
        binaries.postgres_bin()


def test_what_was_queued_is_there_after_valkey_was_killed(tmp_path: Path) -> None:
    server = ValkeyServer(tmp_path / "valkey", log=tmp_path / "valkey.log")
    server.start()
    with redis.Redis.from_url(server.url) as client:
        client.rpush("queue", "task")
        assert wait_until(lambda: client.info("persistence")["aof_last_write_status"] == "ok")
    os.kill(server.child.pid, signal.SIGKILL)
    server.start()
    with redis.Redis.from_url(server.url) as client:
        assert client.lrange("queue", 0, -1) == [b"task"]
    server.stop()


def test_a_runtime_directory_with_a_long_path_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("x" * LONGEST_DIRECTORY)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    made = make_socket_directory(Identity(), note=tmp_path / "sockets")
    assert len(os.fsencode(made)) <= LONGEST_DIRECTORY
    made.rmdir()


def test_the_socket_directory_of_a_killed_server_is_removed_at_the_next_start(tmp_path: Path) -> None:
    left = make_socket_directory(Identity(), note=tmp_path / "sockets")
    made = make_socket_directory(Identity(), note=tmp_path / "sockets")
    assert not left.exists()
    made.rmdir()


def test_a_note_that_names_a_foreign_directory_removes_nothing(tmp_path: Path) -> None:
    foreign = tmp_path / "home"
    foreign.mkdir()
    (tmp_path / "sockets").write_text(str(foreign))
    make_socket_directory(Identity(), note=tmp_path / "sockets").rmdir()
    assert foreign.exists()
