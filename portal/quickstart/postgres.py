"""An embedded PostgreSQL: for evaluation on one machine, and for tests."""

import enum
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from portal.quickstart.binaries import postgres_bin
from portal.quickstart.children import Child
from portal.quickstart.errors import QuickstartError
from portal.quickstart.leftovers import clear_leftovers
from portal.quickstart.sockets import make_socket_directory
from portal.quickstart.unprivileged import identity_for

SUPERUSER = "postgres"
ROLES = Path(__file__).with_name("roles.sql")
START_PATIENCE = 60.0  # seconds; replaying the log after a crash takes some


class Durability(enum.Enum):
    """Whether data must survive a loss of power."""

    KEPT = "kept"
    THROWAWAY = "throwaway"


SETTINGS = {
    Durability.KEPT: (),
    Durability.THROWAWAY: ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"),
}


class PostgresServer:
    """One server on one data directory, reached only through a private unix socket."""

    def __init__(self, data: Path, *, durability: Durability, log: Path) -> None:
        self.data = data.absolute()
        self.log = log
        self._durability = durability
        self._bin = postgres_bin()
        self._child: Child | None = None
        self.sockets: Path | None = None

    @property
    def child(self) -> Child:
        if self._child is None:
            raise QuickstartError("PostgreSQL has not been started.")
        return self._child

    def start(self) -> None:
        """Make the data directory where there is none, clear what a crash left, start, and wait until it answers.

        Raises:
            QuickstartError: it cannot; the sentence carries PostgreSQL's own last line.
        """
        if self._child is not None:
            self._child.stop()  # reap it: a zombie would keep its process id
        self.data.parent.mkdir(parents=True, exist_ok=True)
        self._identity = identity_for(self._bin / "postgres", self.data)
        self._make_data_directory()
        clear_leftovers(self.data)
        if self.sockets is None:  # a restart keeps the address that others were given
            self.sockets = make_socket_directory(self._identity, note=self.data.with_suffix(".sockets"))
        self._child = self._launch(self.sockets)
        self._wait_until_it_answers(self._child)

    def stop(self) -> None:
        """Fast shutdown: open transactions are rolled back, everything committed is kept."""
        if self._child is not None:
            self._child.stop(patience=20)
        if self.sockets is not None:
            shutil.rmtree(self.sockets, ignore_errors=True)

    def url(self, *, role: str, database: str) -> str:
        """The address of *database* for *role*."""
        return f"postgresql://{quote(role)}@/{quote(database)}?host={quote(str(self.sockets))}"

    def superuser_connection(self, database: str = "postgres") -> psycopg.Connection:
        """A connection outside any transaction, as CREATE DATABASE needs it."""
        return psycopg.connect(
            host=str(self.sockets), user=SUPERUSER, dbname=database, autocommit=True, connect_timeout=5
        )

    def ensure_database(self, name: str) -> None:
        """Make the database *name* with its roles, where it does not exist."""
        with self.superuser_connection() as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
            if known is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        with self.superuser_connection(name) as connection:
            connection.execute(ROLES.read_bytes())

    def _make_data_directory(self) -> None:
        version_file = self.data / "PG_VERSION"
        if not version_file.exists():
            self._initdb()
        made_by, installed = version_file.read_text().strip(), self._installed_major()
        if made_by != installed:
            raise QuickstartError(
                f"{self.data} was made by PostgreSQL {made_by}, and PostgreSQL {installed} is installed: "
                f"install {made_by}, or remove the directory to start with empty data."
            )

    def _initdb(self) -> None:
        # Made beside its place and then renamed, so that an interrupted initdb leaves nothing half made.
        unfinished = self.data.with_name(self.data.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        self._identity.give(unfinished)
        options = ["-U", SUPERUSER, "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
        made = subprocess.run(
            [*self._identity.prefix, str(self._bin / "initdb"), "-D", str(unfinished), *options],
            user=self._identity.uid,
            group=self._identity.uid,
            extra_groups=None if self._identity.uid is None else [],
            env=_environment(),
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            shutil.rmtree(unfinished, ignore_errors=True)
            reason = (made.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise QuickstartError(f"PostgreSQL could not make {self.data}: {reason}")
        unfinished.rename(self.data)
        os.sync()

    def _installed_major(self) -> str:
        said = subprocess.run([str(self._bin / "postgres"), "--version"], capture_output=True, text=True, check=True)
        return said.stdout.split()[2].partition(".")[0]

    def _launch(self, sockets: Path) -> Child:
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={sockets}", *SETTINGS[self._durability]]
        return Child(
            [str(self._bin / "postgres"), "-D", str(self.data), *options],
            log=self.log,
            environment=_environment(),
            identity=self._identity,
            stop_signal=signal.SIGINT,  # fast shutdown; SIGTERM would wait for every client to leave
        )

    def _wait_until_it_answers(self, child: Child) -> None:
        deadline = time.monotonic() + START_PATIENCE
        while child.exit_status is None and time.monotonic() < deadline:
            try:
                self.superuser_connection().close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        child.stop()
        raise QuickstartError(f"PostgreSQL did not start: {child.last_words()} (log: {self.log})")


def _environment() -> dict[str, str]:
    """The environment without PG* variables, which are meant for another server; times in UTC."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {"TZ": "UTC", "LC_MESSAGES": "C"}
