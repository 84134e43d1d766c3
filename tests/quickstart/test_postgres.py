"""The embedded PostgreSQL survives what happens to servers on laptops."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from portal.quickstart.errors import QuickstartError
from portal.quickstart.leftovers import clear_leftovers, recorded_pid, servers_of
from portal.quickstart.postgres import Durability, PostgresServer
from tests.quickstart.conftest import process_lives, wait_until

NAMELESS_UID = 4242
SERVE_UNTIL_KILLED = """
import sys, time
from pathlib import Path
from portal.quickstart.postgres import Durability, PostgresServer
place = Path(sys.argv[1])
server = PostgresServer(place / "postgres", durability=Durability.KEPT, log=place / "postgres.log")
server.start()
print(server.child.pid, flush=True)
time.sleep(60)
"""
NAMELESS = """
import os, pwd, sys, tempfile
from pathlib import Path
from portal.quickstart.postgres import Durability, PostgresServer
try:
    pwd.getpwuid(os.geteuid())
    sys.exit("this user has a name")
except KeyError:
    pass
with tempfile.TemporaryDirectory() as place:
    server = PostgresServer(Path(place) / "postgres", durability=Durability.THROWAWAY, log=Path(place) / "log")
    server.start()
    server.ensure_database("countersign")
    with server.superuser_connection("countersign") as connection:
        print(connection.execute("SELECT 'it works'").fetchone()[0])
    server.stop()
"""


def server_in(place: Path, durability: Durability = Durability.THROWAWAY) -> PostgresServer:
    return PostgresServer(place / "postgres", durability=durability, log=place / "postgres.log")


def write_a_row(server: PostgresServer) -> None:
    with server.superuser_connection() as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")


def read_the_row(server: PostgresServer) -> object:
    with server.superuser_connection() as connection:
        return connection.execute("SELECT answer FROM kept").fetchone()


def test_data_is_there_after_a_stop_and_a_start(postgres: PostgresServer, tmp_path: Path) -> None:
    write_a_row(postgres)
    postgres.stop()
    again = server_in(tmp_path)
    again.start()
    assert read_the_row(again) == (42,)
    again.stop()


def test_data_is_there_after_the_server_was_killed(tmp_path: Path) -> None:
    server = server_in(tmp_path, Durability.KEPT)
    server.start()
    write_a_row(server)
    os.kill(server.child.pid, signal.SIGKILL)
    assert wait_until(lambda: server.child.exit_status == -signal.SIGKILL)
    server.start()
    assert read_the_row(server) == (42,)
    server.stop()


def test_a_restart_keeps_the_address_that_others_were_given(postgres: PostgresServer) -> None:
    address = postgres.url(role="app", database="countersign")
    os.kill(postgres.child.pid, signal.SIGKILL)
    postgres.start()
    assert postgres.url(role="app", database="countersign") == address


def test_killing_the_supervisor_ends_its_server(
    tmp_path: Path, python_program: Callable[..., subprocess.Popen[str]]
) -> None:
    supervisor = python_program(SERVE_UNTIL_KILLED, str(tmp_path))
    assert supervisor.stdout is not None
    postmaster = int(supervisor.stdout.readline())
    assert process_lives(postmaster)
    os.kill(supervisor.pid, signal.SIGKILL)
    assert wait_until(lambda: not process_lives(postmaster))


def test_it_starts_again_at_once_after_its_supervisor_was_killed(
    tmp_path: Path, python_program: Callable[..., subprocess.Popen[str]]
) -> None:
    supervisor = python_program(SERVE_UNTIL_KILLED, str(tmp_path))
    assert supervisor.stdout is not None
    supervisor.stdout.readline()
    os.kill(supervisor.pid, signal.SIGKILL)
    server = server_in(tmp_path)
    server.start()
    write_a_row(server)
    server.stop()


def test_a_pid_file_that_names_a_foreign_process_is_stale(postgres: PostgresServer, tmp_path: Path) -> None:
    postgres.stop()
    pid_file = tmp_path / "postgres" / "postmaster.pid"
    pid_file.write_text(f"{os.getpid()}\n{tmp_path / 'postgres'}\n1700000000\n5432\n")
    again = server_in(tmp_path)
    again.start()
    assert recorded_pid(pid_file) == again.child.pid
    again.stop()


def test_a_zombie_that_holds_the_process_id_is_stale(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    assert wait_until(lambda: not process_lives(ended.pid))  # ended, and not reaped yet
    pid_file = tmp_path / "postmaster.pid"
    pid_file.write_text(f"{ended.pid}\n")
    clear_leftovers(tmp_path)
    assert not pid_file.exists()
    ended.wait()


def test_a_living_server_of_the_same_data_is_named_and_its_pid_file_kept(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    os.kill(postgres.child.pid, signal.SIGSTOP)  # it cannot obey
    try:
        with pytest.raises(QuickstartError, match=f"process .*{postgres.child.pid}"):
            clear_leftovers(tmp_path / "postgres", patience=0.2)
        assert recorded_pid(tmp_path / "postgres" / "postmaster.pid") == postgres.child.pid
    finally:
        os.kill(postgres.child.pid, signal.SIGCONT)


def test_two_checkouts_run_side_by_side(tmp_path: Path) -> None:
    one, other = server_in(tmp_path / "one"), server_in(tmp_path / "other")
    one.start()
    other.start()
    write_a_row(one)
    with pytest.raises(psycopg.errors.UndefinedTable):
        read_the_row(other)
    assert servers_of(one.data).isdisjoint(servers_of(other.data))
    one.stop()
    other.stop()


def test_it_runs_for_a_user_id_without_a_name(python_program: Callable[..., subprocess.Popen[str]]) -> None:
    as_nameless = ("unshare", "--user", f"--map-user={NAMELESS_UID}", f"--map-group={NAMELESS_UID}", "--")
    output, _ = python_program(NAMELESS, prefix=as_nameless).communicate(timeout=60)
    assert output.strip() == "it works"


def test_it_listens_on_no_network_address(postgres: PostgresServer) -> None:
    with postgres.superuser_connection() as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_only_its_own_user_can_enter_the_socket_directory(postgres: PostgresServer) -> None:
    assert postgres.sockets is not None
    assert postgres.sockets.stat().st_mode & 0o777 == 0o700


def test_kept_data_is_written_through_to_the_disk(tmp_path: Path) -> None:
    server = server_in(tmp_path, Durability.KEPT)
    server.start()
    with server.superuser_connection() as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
    server.stop()


def test_an_interrupted_first_start_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    half_made = tmp_path / "postgres.unfinished"
    half_made.mkdir()
    (half_made / "PG_VERSION").write_text("18\n")
    server = server_in(tmp_path)
    server.start()
    write_a_row(server)
    server.stop()


def test_data_of_another_major_version_is_refused_with_a_way_out(postgres: PostgresServer, tmp_path: Path) -> None:
    postgres.stop()
    (tmp_path / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(QuickstartError, match=r"made by PostgreSQL 9.*remove the directory"):
        server_in(tmp_path).start()


def test_no_system_user_is_made_and_no_parent_directory_opened(tmp_path: Path) -> None:
    place = tmp_path / "closed"
    place.mkdir(mode=0o700)
    users = Path("/etc/passwd").read_bytes()
    server = server_in(place)
    server.start()
    server.stop()
    assert Path("/etc/passwd").read_bytes() == users
    assert place.stat().st_mode & 0o777 == 0o700
