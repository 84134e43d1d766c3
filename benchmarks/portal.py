"""A throwaway portal to measure: embedded PostgreSQL with real fsync, a fleet that has enrolled, granian in front."""

import os
import secrets
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cpu import CpuMeter
from portal.quickstart import programs
from portal.quickstart.postgres import Durability, PostgresServer

DATABASE = "countersign"
CHECKOUT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the portal under test listens, where its data is, and what its two halves have spent."""

    url: str
    database_url: str
    server: CpuMeter
    postgres: CpuMeter
    place: Path


@contextmanager
def database() -> Iterator[PostgresServer]:
    """A migrated database; settings of this process point at it, so that services can fill it."""
    with tempfile.TemporaryDirectory(prefix="cs-bench-") as directory:
        place = Path(directory)
        server = PostgresServer(place / "postgres", durability=Durability.KEPT, log=place / "postgres.log")
        server.start()
        try:
            server.ensure_database(DATABASE)
            _point_settings_at(server)
            yield server
        finally:
            server.stop()


@contextmanager
def served(postgres: PostgresServer) -> Iterator[Bench]:
    """The portal on a free port, served as ``make run`` and the container serve it."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="cs-bench-web-") as directory:
        web = _granian(port, log=Path(directory) / "web.log")
        try:
            _wait_until_alive(url, web)
            yield Bench(
                url, postgres.url(role="app", database=DATABASE), CpuMeter(web.pid), CpuMeter(postgres.child.pid),
                Path(directory),
            )  # fmt: skip
        finally:
            web.terminate()
            web.wait(20)


def _point_settings_at(server: PostgresServer) -> None:
    os.environ.update(
        DJANGO_SETTINGS_MODULE="portal.settings",
        DATABASE_URL=server.url(role="app", database=DATABASE),
        DATABASE_OWNER_URL=server.url(role="owner", database=DATABASE),
        SECRET_KEY=secrets.token_urlsafe(48),
        TOKEN_PEPPERS=f"1:{secrets.token_urlsafe(48)}",
        LOG_LEVEL="ERROR",
    )
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", database="owner", verbosity=0, interactive=False)


def _granian(port: int, *, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(programs.web(port), cwd=CHECKOUT, stdout=output, stderr=subprocess.STDOUT)


def _wait_until_alive(url: str, web: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while web.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/healthz", timeout=2).close()  # noqa: S310  (our own loopback address)
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("The portal under test did not start.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
