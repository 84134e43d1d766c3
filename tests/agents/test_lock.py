"""One tick at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from readiness_agent.lock import TickLock

HOLD = (
    "import sys; from readiness_agent.lock import TickLock; print(TickLock(sys.argv[1]).acquire(), flush=True); input()"
)


def holder(path: Path) -> subprocess.Popen[str]:
    """Another process that takes the lock and keeps it until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": "agents"}, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "True\n"
    return process


def test_a_second_tick_does_not_get_the_lock(tmp_path: Path) -> None:
    process = holder(tmp_path / "lock")

    lock = TickLock(str(tmp_path / "lock"))

    assert not lock.acquire()
    held = lock.held_for()
    assert held is not None
    assert 0 <= held < 30
    process.communicate("\n")


def test_the_lock_of_a_killed_tick_is_free(tmp_path: Path) -> None:
    process = holder(tmp_path / "lock")
    process.kill()
    process.communicate()

    assert TickLock(str(tmp_path / "lock")).acquire()


def test_what_a_dead_pid_left_in_the_file_means_nothing(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4194301 1\n")

    assert TickLock(str(tmp_path / "lock")).acquire()


def test_an_abandoned_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    lock = TickLock(str(tmp_path / "lock"))
    assert lock.acquire()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reader, 1)  # lives on, as a probe in D state would
        os._exit(0)
    lock.release()

    process = holder(tmp_path / "lock")

    process.communicate("\n")
    os.write(writer, b"x")
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
