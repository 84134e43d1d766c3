"""``make run`` from outside: what it leaves behind, whichever way it ends, and what it does when a part dies."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.quickstart.conftest import ROOT, process_lives, wait_until

START_PATIENCE = 120.0  # seconds, on a busy machine
READY = "Ctrl-C stops everything"

pytestmark = pytest.mark.xdist_group("quickstart-run")


class Run:
    """One ``python -m portal.quickstart run`` with data of its own."""

    def __init__(self, place: Path) -> None:
        self.var = place / "var"
        self.said = place / "said"
        self.port = _free_port()
        self.process = self._start()

    def again(self) -> None:
        """Start once more on the same data."""
        self.process = self._start()

    def wait_until_ready(self) -> None:
        assert wait_until(lambda: READY in self.text() or self.process.poll() is not None, seconds=START_PATIENCE)
        assert READY in self.text(), self.text()

    def text(self) -> str:
        return self.said.read_text()

    def notes(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.var / "quickstart.json").read_text())
        return found

    def descendants(self) -> set[int]:
        """Every process below the supervisor."""
        found, unseen = set(), {self.process.pid}
        while unseen:
            found |= unseen
            unseen = {child for parent in unseen for child in _children(parent)} - found
        return found - {self.process.pid}

    def answers(self, path: str = "/healthz") -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def end(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(40)

    def _start(self) -> subprocess.Popen[bytes]:
        environment = os.environ | {"COUNTERSIGN_VAR": str(self.var), "PORT": str(self.port)}
        with self.said.open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "portal.quickstart", "run"],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A portal that has said that it is ready."""
    run = Run(tmp_path)
    run.wait_until_ready()
    yield run
    run.end(signal.SIGTERM)


@pytest.fixture(scope="module")
def lasting_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A portal whose parts may be killed: it must be whole again after each test."""
    run = Run(tmp_path_factory.mktemp("lasting"))
    run.wait_until_ready()
    yield run
    run.end(signal.SIGTERM)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _children(pid: int) -> list[int]:
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in listed.split()]


def _pid_of(run: Run, word: str) -> int:
    """The first process below the supervisor whose command line holds *word*."""
    for pid in sorted(run.descendants()):
        if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError(f"no {word} runs")


def test_sigterm_ends_everything_and_a_second_start_keeps_the_data(run: Run) -> None:
    first, below = run.notes(), run.descendants()
    run.end(signal.SIGTERM)
    assert run.process.returncode == 0
    assert not [pid for pid in below if process_lives(pid)]
    run.again()
    run.wait_until_ready()
    assert run.notes() == first


def test_kill_9_leaves_nothing_behind_and_the_next_start_works(run: Run) -> None:
    below = run.descendants()
    run.end(signal.SIGKILL)
    assert wait_until(lambda: not [pid for pid in below if process_lives(pid)], seconds=30)
    run.again()
    run.wait_until_ready()
    assert run.answers()


def test_a_stop_during_the_start_ends_everything_too(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert wait_until(lambda: (run.var / "log" / "first-run.log").exists(), seconds=START_PATIENCE)
    below = run.descendants()
    run.end(signal.SIGTERM)
    assert run.process.returncode == 0
    assert READY not in run.text()
    assert not [pid for pid in below if process_lives(pid)]


def test_the_web_program_is_started_again_after_it_was_killed(lasting_run: Run) -> None:
    os.kill(_pid_of(lasting_run, "granian"), signal.SIGKILL)
    assert wait_until(lambda: "web ended" in lasting_run.text(), seconds=10)
    assert wait_until(lasting_run.answers, seconds=60)


def test_the_database_is_started_again_after_it_was_killed(lasting_run: Run) -> None:
    os.kill(_pid_of(lasting_run, "postgres"), signal.SIGKILL)
    assert wait_until(lambda: "postgres ended" in lasting_run.text(), seconds=10)
    assert wait_until(lambda: lasting_run.answers("/readyz"), seconds=60)
