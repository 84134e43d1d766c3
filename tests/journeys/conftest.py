"""A portal as ``make run`` starts it, with data of its own, for all journeys of a session."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.user import CHECKOUT, Agent, Portal

START_PATIENCE = 120.0  # seconds


@pytest.fixture(scope="session")
def portal() -> Iterator[Portal]:
    """A running portal; ended as Ctrl-C ends it."""
    with tempfile.TemporaryDirectory(prefix="cs-journey-") as place:
        var = Path(place) / "var"
        log = Path(place) / "said"
        url = f"http://127.0.0.1:{_free_port()}"
        started = _start(var, url, log)
        try:
            _wait_until_ready(var, started, log)
            yield Portal(url, var, json.loads((var / "quickstart.json").read_text()))
        finally:
            started.send_signal(signal.SIGINT)
            started.wait(30)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent that has not enrolled yet."""
    home = tmp_path / "agent"
    home.mkdir(mode=0o700)
    return Agent(home)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(var: Path, url: str, log: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"COUNTERSIGN_VAR": str(var), "PORT": url.rpartition(":")[2]}
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "portal.quickstart", "run"],
            cwd=CHECKOUT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )


def _wait_until_ready(var: Path, started: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_PATIENCE
    while "Ctrl-C stops everything" not in log.read_text():
        assert started.poll() is None, f"make run ended: {log.read_text()}"
        assert time.monotonic() < deadline, f"make run is not ready after {START_PATIENCE:.0f} s: {log.read_text()}"
        time.sleep(0.2)
