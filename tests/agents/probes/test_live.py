"""The parts that ask this very machine. What they answer is compared with what the machine shows otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from readiness_agent.facts import CouldNotMeasure
from readiness_agent.parsers.clock import clock_of_adjtimex
from readiness_agent.probes import jobs
from readiness_agent.probes.adjtimex import adjtimex
from readiness_agent.probes.jobs import find_jobs, find_user
from readiness_agent.probes.kernel import KERNEL
from readiness_agent.probes.memory import MEMORY
from readiness_agent.probes.storage import STORAGE, waiting_tasks
from readiness_agent.source import LiveSource, ProbeContext
from tests.agents.probes.fake_source import values
from tests.agents.whoami import ME


@pytest.fixture
def process_of_mine() -> Iterator[int]:
    """A process of the user who runs the tests, which waits until it is told to end."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child.pid
    child.communicate(b"\n")


@pytest.fixture
def blocked_process(tmp_path: Path) -> Iterator[int]:
    """A process in state D: it started a child and waits for its exec, which waits for a writer of a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    actions = f"[(os.POSIX_SPAWN_OPEN, 0, {str(pipe)!r}, os.O_RDONLY, 0)]"
    spawn = f"import os; os.posix_spawn('/bin/true', ['true'], {{}}, file_actions={actions})"
    child = subprocess.Popen([sys.executable, "-c", spawn])
    yield child.pid
    os.close(os.open(pipe, os.O_WRONLY))
    child.wait()


def test_the_kernel_answers_adjtimex_in_the_shape_that_the_parser_knows() -> None:
    answer = adjtimex()

    assert isinstance(answer, dict)
    assert isinstance(clock_of_adjtimex(answer).synchronized, bool)
    assert int(str(answer["maxerror"])) > 0


def test_live_settings_are_those_below_proc_sys() -> None:
    facts = values(KERNEL.run(LiveSource(), ProbeContext()), "sysctl-somaxconn")

    assert facts["live"] == int(Path("/proc/sys/net/core/somaxconn").read_text())


def test_the_memory_of_this_machine_is_that_of_sysconf() -> None:
    total = values(MEMORY.run(LiveSource(), ProbeContext()), "mem-oom")["memory_total"]

    assert total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20


def test_the_account_of_the_one_who_runs_this_is_found() -> None:
    user = find_user(LiveSource(), ME)

    assert (user.uid, user.gid, user.agent_uid) == (os.getuid(), os.getgid(), os.geteuid())


def test_a_job_user_that_does_not_exist_is_missing() -> None:
    with pytest.raises(CouldNotMeasure, match="no user"):
        find_user(LiveSource(), "nobody-has-this-name")


def test_a_process_of_the_configured_user_is_found_as_a_job(
    process_of_mine: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MOST_PROCESSES", 1_000_000)  # a busy machine has more processes of one user than counts

    assert process_of_mine in find_jobs(LiveSource(), ME)


def test_a_process_in_uninterruptible_sleep_is_found_waiting(blocked_process: int) -> None:
    deadline = time.monotonic() + 20

    while not [key for key in waiting_tasks() if key.startswith(f"{blocked_process}:")]:
        assert time.monotonic() < deadline, "the process never came to state D"


def test_this_machine_has_no_mount_that_hangs(tmp_path: Path) -> None:
    result = STORAGE.run(LiveSource(), ProbeContext(memory_dir=str(tmp_path)))

    assert values(result, "hung-io")["slowest_mount"] == 0.0
    assert values(result, "hung-io")["failing_mounts"] == 0
