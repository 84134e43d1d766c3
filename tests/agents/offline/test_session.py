"""Offline probes yield: to a stranger, to a signal, to the end of their claim, and to the death of their agent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from readiness_agent.config import Config, Paths
from readiness_agent.errors import AgentError
from readiness_agent.facts import Findings, ProbeResult
from readiness_agent.offline.bench import WORK, Bench, OfflineProbe, make_work_directory
from readiness_agent.offline.session import Watch, live_bench, run_session
from readiness_agent.offline.taking import measure_alone
from readiness_agent.offline.watch import busy_state_in, foreign_pids, jobs_in
from readiness_agent.runner import Outcome


def stubborn(bench: Bench) -> ProbeResult:
    """Writes a file, and starts a tool that ignores TERM."""
    place = make_work_directory(bench.config.fio_dir)
    Path(place, "big").write_bytes(b"x" * 4096)
    script = f"trap '' TERM; echo $$ > {bench.config.fio_dir}/pid; while :; do sleep 1; done"
    bench.source.run(("sh", "-c", script), 60.0)
    raise AssertionError("it never ends by itself")


def quick(bench: Bench) -> ProbeResult:
    findings = Findings(bench.source.now_boottime())
    findings.fact("nvme-fio", "duration", bench.seconds, "seconds")
    return findings.result()


STUBBORN = OfflineProbe("stubborn", ("gpu-burn",), 60.0, stubborn)
QUICK = OfflineProbe("quick", ("nvme-fio",), 300.0, quick)


def session(tmp_path: Path, watch: Watch, *probes: OfflineProbe) -> list[Outcome]:
    return run_session(probes, live_bench(Config(portal="", fio_dir=str(tmp_path)), str(tmp_path)), watch)


def why(outcome: Outcome) -> str:
    return outcome.result.problems[0].detail


def is_gone(tmp_path: Path) -> bool:
    """Whether the tool has ended, for good."""
    pid = int((tmp_path / "pid").read_text())
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_probe_yields_to_a_stranger_within_five_seconds_and_leaves_nothing(tmp_path: Path) -> None:
    seen: list[float] = []

    def foreign(own: object) -> str:
        if not (tmp_path / "pid").exists():
            return ""
        seen.append(time.monotonic())
        return "job 4711 is on this node"

    first, second = session(tmp_path, Watch(foreign, lambda: 3600.0, every=0.2), STUBBORN, QUICK)

    assert time.monotonic() - seen[0] < 5
    assert why(first) == "stubborn: yielded: job 4711 is on this node"
    assert why(second) == "yielded: job 4711 is on this node"  # nothing else is begun
    assert is_gone(tmp_path)
    assert not (tmp_path / WORK).exists()


def test_a_probe_ends_with_its_claim(tmp_path: Path) -> None:
    end = time.monotonic() + 66.0  # half of the time to clean up is kept back
    outcomes = session(
        tmp_path,
        Watch(lambda own: "", lambda: 0.0 if (tmp_path / "pid").exists() else end - time.monotonic()),
        STUBBORN,
    )

    assert why(outcomes[0]) == "stubborn: the claim on this node is over"
    assert is_gone(tmp_path)


def test_a_probe_gets_the_time_that_is_left_and_none_is_begun_without_any(tmp_path: Path) -> None:
    short, none = (session(tmp_path, Watch(lambda own: "", lambda left=left: left), QUICK)[0] for left in (160.0, 20.0))

    assert [fact.value for fact in short.result.facts] == [100.0]
    assert why(none) == "no time left in this window"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_agent_its_probes_end_too(tmp_path: Path, number: signal.Signals) -> None:
    code = f"""
        from tests.agents.offline.test_session import STUBBORN, Watch, session
        from pathlib import Path
        session(Path({str(tmp_path)!r}), Watch(lambda own: "", lambda: 3600.0), STUBBORN)
    """
    agent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    end = time.monotonic() + 20
    while not (tmp_path / "pid").exists() and time.monotonic() < end:
        time.sleep(0.05)
    agent.send_signal(number)
    agent.wait(timeout=10)
    end = time.monotonic() + 5
    while not (is_gone(tmp_path) and not (tmp_path / WORK).exists()) and time.monotonic() < end:
        time.sleep(0.05)

    assert is_gone(tmp_path)
    assert not (tmp_path / WORK).exists()


def test_a_node_whose_configuration_does_not_allow_it_is_not_disturbed(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path / "agent.json"), str(tmp_path / "token"), str(tmp_path / "state"))

    with pytest.raises(AgentError, match="set allow_disruptive to true") as refused:
        measure_alone([QUICK], Config(portal=""), paths, None)
    assert refused.value.exit_code == 2


def test_an_allowed_node_with_nobody_on_it_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readiness_agent.offline.taking.foreign_use", lambda *_: "")
    paths = Paths(str(tmp_path / "agent.json"), str(tmp_path / "token"), str(tmp_path / "state"))
    measured = measure_alone([QUICK], Config(portal="", allow_disruptive=True), paths, 5.0)

    assert [(fact.item, fact.value) for fact in measured.facts()] == [("nvme-fio", 5.0)]


def tool(place: Path, name: str, script: str) -> None:
    file = place / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 4711", "not measured: job 4711 is on this node"),
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1",
         "not measured: it cannot be told whether a job is on this node: squeue: slurm_load_jobs error"),
    ],
)  # fmt: skip
def test_a_node_with_a_job_or_an_unreachable_scheduler_is_not_disturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    tool(tmp_path, "squeue", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    paths = Paths(str(tmp_path / "agent.json"), str(tmp_path / "token"), str(tmp_path / "state"))

    with pytest.raises(AgentError, match=said):
        measure_alone([QUICK], Config(portal="", allow_disruptive=True), paths, None)


def test_processes_of_our_own_are_no_strangers() -> None:
    text = "101, /opt/venv/bin/python\n202, /usr/bin/train\n[Not Found], [Not Found]\n"

    assert foreign_pids(text, [101]) == ["202", "[Not Found]"]
    assert foreign_pids("\n", []) == []


def test_the_schedulers_words_about_a_node() -> None:
    assert jobs_in("") == ""
    assert busy_state_in("NodeName=gpu001 State=IDLE+DRAIN ThreadsPerCore=2") == ""
    assert busy_state_in("NodeName=gpu001 State=IDLE* ThreadsPerCore=2") == ""
    assert "MIXED+DRAIN" in busy_state_in("NodeName=gpu001 State=MIXED+DRAIN ThreadsPerCore=2")
    assert busy_state_in("slurm is away") == "scontrol does not tell this node's state"
