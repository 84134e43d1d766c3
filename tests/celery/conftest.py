"""A real worker: its own process, the test's own database, an embedded Valkey."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from portal.quickstart.valkey import ValkeyServer
from tests.databases import TestDatabases

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0

StartProgram = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start_celery(
    transactional_db: None, databases: TestDatabases, valkey: ValkeyServer, tmp_path: Path
) -> Iterator[StartProgram]:
    """Starts ``celery worker`` or ``celery beat`` on this test's database; ends what it started."""
    started: list[subprocess.Popen[bytes]] = []
    log = tmp_path / "celery.log"

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "portal", *arguments]
        with log.open("ab") as output:
            program = subprocess.Popen(
                command, cwd=ROOT, env=_environment(databases, valkey), stdout=output, stderr=subprocess.STDOUT
            )
        started.append(program)
        return program

    yield start
    for program in started:
        program.terminate()
    for program in started:
        program.wait(timeout=PATIENCE_S)
    sys.stderr.write(log.read_text(errors="replace") if log.exists() else "")


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Look every 50 ms until it is so; fails after a minute, naming *what* did not happen."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE_S:.0f} s"
        time.sleep(0.05)


def _environment(databases: TestDatabases, valkey: ValkeyServer) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "DATABASE_URL": databases.url("app"),
        "REDIS_URL": valkey.url,
        "SECRET_KEY": settings.SECRET_KEY,
        "TOKEN_PEPPERS": "1:" + settings.TOKEN_PEPPERS[1].replace(",", ";"),
    }
