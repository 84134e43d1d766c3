"""Servers of a test's own, and programs that the tests run and kill."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portal.quickstart.postgres import Durability, PostgresServer

ROOT = Path(__file__).resolve().parents[2]


def process_lives(pid: int) -> bool:
    """Whether *pid* runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(holds: Callable[[], bool], *, seconds: float = 15.0) -> bool:
    """Whether *holds* became true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[PostgresServer]:
    """A started server with a database of the portal's."""
    server = PostgresServer(tmp_path / "postgres", durability=Durability.THROWAWAY, log=tmp_path / "postgres.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def python_program() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts Python code of the project as a program of its own; what still runs is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [*prefix, sys.executable, "-c", code, *arguments],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        return started[-1]

    yield start
    for program in started:
        if program.poll() is None:
            os.kill(program.pid, signal.SIGKILL)
        program.communicate()


@pytest.fixture
def live_port() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]
