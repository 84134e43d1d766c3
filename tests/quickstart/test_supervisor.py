"""Programs are kept running, and the person is told."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from portal.quickstart import run as quickstart
from portal.quickstart import supervisor
from portal.quickstart.__main__ import main
from portal.quickstart.children import Child
from portal.quickstart.errors import QuickstartError
from portal.quickstart.place import Place, require_free_port, require_room, write_json
from portal.quickstart.supervisor import Service, Ticker
from tests.quickstart.conftest import process_lives, wait_until


def child(tmp_path: Path, script: str) -> Child:
    return Child(["/bin/sh", "-c", script], log=tmp_path / "child.log", environment=os.environ)


def test_a_dead_program_is_started_again_and_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.0)
    said: list[str] = []
    scripts = iter(["exit 3", "sleep 60"])
    service = Service("web", lambda: child(tmp_path, next(scripts)))
    service.tend(said.append)
    assert wait_until(lambda: service.child is not None and service.child.exit_status == 3)
    service.tend(said.append)
    service.tend(said.append)
    assert service.child is not None
    assert service.child.exit_status is None
    assert len(said) == 1
    assert said[0].startswith("web ended (exit status 3; log: ")
    service.stop()


def test_each_death_makes_the_pause_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Child:
        raise QuickstartError("no")

    clock = iter(range(0, 100_000, 100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    said: list[str] = []
    service = Service("postgres", refuse)
    for _ in range(7):
        service.tend(said.append)
    assert [line.rpartition(" in ")[2] for line in said] == ["1 s", "2 s", "4 s", "8 s", "16 s", "30 s", "30 s"]


def test_stopping_a_program_ends_what_it_started(tmp_path: Path) -> None:
    parent = child(tmp_path, "trap '' TERM; sleep 300 & echo $!; wait")
    assert wait_until(lambda: parent.log.read_text().strip().isdigit())
    grandchild = int(parent.log.read_text())
    parent.stop(patience=0.1)
    assert wait_until(lambda: not process_lives(grandchild))


def test_a_tick_that_still_runs_is_not_started_twice(tmp_path: Path) -> None:
    started: list[Child] = []

    def launch() -> Child:
        started.append(child(tmp_path, "sleep 60"))
        return started[-1]

    ticker = Ticker(launch, period=0.0)
    ticker.tend()
    ticker.tend()
    assert len(started) == 1
    ticker.stop()


def test_a_second_supervisor_of_a_checkout_is_refused_with_the_address_of_the_first(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write_json(place.notes, {"url": "http://127.0.0.1:8123"})
    with place.held(), pytest.raises(QuickstartError, match=r"already runs at http://127.0.0.1:8123"), place.held():
        pass


def test_a_taken_port_is_refused_with_another_one_to_try(live_port: int) -> None:
    with pytest.raises(QuickstartError, match=f"PORT={live_port + 1}"):
        require_free_port(live_port)


def test_it_refuses_to_serve_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTAL_URL", "https://countersign.example")
    with pytest.raises(QuickstartError, match=r"deploy with docker-compose\.yml"):
        quickstart.run(port=8000)


def test_a_secret_is_readable_by_its_owner_only_and_stays_the_same(tmp_path: Path) -> None:
    first = Place(tmp_path).secret("secret_key")
    text = first.read_text()
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert Place(tmp_path).secret("secret_key").read_text() == text
    assert len(text) >= 50


def test_the_notes_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    write_json(tmp_path / "quickstart.json", {"password": "x"})
    assert stat.S_IMODE((tmp_path / "quickstart.json").stat().st_mode) == 0o600


SUPERVISE_UNTIL_KILLED = """
import os, shutil, sys, time
from pathlib import Path
shutil.which = lambda name, **_: None  # a machine without setpriv
from portal.quickstart.children import Child
child = Child(["sleep", "60"], log=Path(sys.argv[1]) / "log", environment=os.environ)
time.sleep(1)
print(child.pid, flush=True)
time.sleep(60)
"""


def test_no_program_outlives_a_killed_supervisor_where_setpriv_is_missing(
    tmp_path: Path, python_program: Callable[..., subprocess.Popen[str]]
) -> None:
    supervising = python_program(SUPERVISE_UNTIL_KILLED, str(tmp_path))
    assert supervising.stdout is not None
    orphan = int(supervising.stdout.readline())
    assert process_lives(orphan)
    os.kill(supervising.pid, signal.SIGKILL)
    assert wait_until(lambda: not process_lives(orphan))


@pytest.mark.parametrize("port", ["0", "65536", "-1", "web", "", "²", "٨٠"])
def test_what_is_no_port_is_told_in_one_sentence(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["quickstart", "run"])
    monkeypatch.setenv("PORT", port)

    assert main() == 1
    assert "give a number from 1 to 65535" in capsys.readouterr().err


def test_a_disk_that_is_almost_full_is_named_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100 << 20))
    with pytest.raises(QuickstartError, match=r"100 MiB free, and 160 MiB are needed: make room"):
        require_room(Place(tmp_path))
    (tmp_path / "postgres").mkdir()
    require_room(Place(tmp_path))
