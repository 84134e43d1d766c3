"""A portal of one's own, to be stopped, killed and frozen: as ``make run`` starts it, on data that stays."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.journeys.user import CHECKOUT, Portal

START_PATIENCE = 120.0  # seconds
STOP_PATIENCE = 30.0
_LAST_LINE = "Ctrl-C stops everything"


class RunningPortal:
    """``make run`` with data in *place*; starting it again finds that data, at the same address."""

    def __init__(self, place: Path) -> None:
        self.var = place / "var"
        self.url = f"http://127.0.0.1:{_free_port()}"
        self._log = place / "said"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def portal(self) -> Portal:
        """What a user has of it."""
        return Portal(self.url, self.var, json.loads((self.var / "quickstart.json").read_text()))

    def start(self) -> None:
        """Start it and wait until it says that it is ready."""
        environment = os.environ | {"COUNTERSIGN_VAR": str(self.var), "PORT": self.url.rpartition(":")[2]}
        command = [sys.executable, "-m", "portal.quickstart", "run"]
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=CHECKOUT, env=environment, stdout=output, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        deadline = time.monotonic() + START_PATIENCE
        while _LAST_LINE not in self._log.read_text():
            assert self._process.poll() is None, f"make run ended: {self._log.read_text()}"
            assert time.monotonic() < deadline, f"make run is not ready: {self._log.read_text()}"
            time.sleep(0.2)

    def stop(self) -> None:
        """As Ctrl-C ends it; nothing happens when it does not run."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(STOP_PATIENCE)
            self._process = None

    def kill(self) -> None:
        """As a power cut ends it: every process of it at once, by its id, with SIGKILL."""
        assert self._process is not None
        for pid in (self._process.pid, *self.processes()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(STOP_PATIENCE)
        self._process = None

    def processes(self, word: str = "") -> list[int]:
        """The ids of all that it started, or of those with *word* in their command line and all below them."""
        assert self._process is not None
        return _below(self._process.pid, word)

    @contextmanager
    def frozen(self, word: str) -> Iterator[None]:
        """Processes with *word* in their command line, and all below them, stand still meanwhile."""
        pids = self.processes(word)
        assert pids, f"no process of this portal is a {word}"
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


def _below(parent: int, word: str) -> list[int]:
    found = []
    for child in _children(parent):
        named = word in Path(f"/proc/{child}/cmdline").read_bytes().decode("utf-8", "replace")
        found += [child, *_below(child, "")] if named else _below(child, word)
    return found


def _children(parent: int) -> list[int]:
    with suppress(OSError):
        threads = list(Path(f"/proc/{parent}/task").iterdir())
        return [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]
    return []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
