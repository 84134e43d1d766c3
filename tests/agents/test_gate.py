"""What a scheduler is told, from which answer, and what it never does to a node."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.config import Paths
from readiness_agent.decision import MOST_RUNS, Decision, DecisionCache
from readiness_agent.node import Moment, now
from readiness_agent.slurm import hardware_faults, may_drain
from tests.agents.portals import Asked, LoopbackPortal, Reply, accept

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

FAULT = {
    "code": "criterion",
    "item": "gpu-ecc",
    "subject": "gpu3",
    "node": "node-1",
    "verdict": "fail",
    "owner": "hardware",
}
READY = {"decision": "ready", "reasons": [], "drain_allowed": False}
BROKEN = {"decision": "not_ready", "reasons": [FAULT], "drain_allowed": True}


def deciding(answer: dict[str, Any], ttl: int = 300) -> Callable[[Asked], Reply]:
    return lambda asked: Reply.of_json(200, answer, Gate_TTL=str(ttl))


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A directory with a ``scontrol`` that knows the node and writes down how it was called."""
    directory = tmp_path / "tools"
    directory.mkdir()
    scontrol = directory / "scontrol"
    scontrol.write_text(
        f'#!/bin/sh\necho "$@" >> {directory}/calls\necho "NodeName=node-1 State=$(cat {directory}/state)"\n'
    )
    scontrol.chmod(0o755)
    (directory / "state").write_text("IDLE")
    return directory


@pytest.fixture
def run(enrolled: Paths, tools: Path) -> Run:
    environment = {
        **os.environ,
        "READINESS_AGENT_HOME": str(Path(enrolled.config).parent),
        "PATH": f"{tools}:{os.environ['PATH']}",
    }

    def gate(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "agents"), "gate", *arguments],
            text=True,
            capture_output=True,
            env=environment,
            check=False,
        )

    return gate


def cache(
    paths: Paths, answer: dict[str, Any], *, age: float = 0.0, ttl: float = 300.0, boot: str | None = None
) -> None:
    """Put a decision of *age* seconds ago into the node's cache."""
    moment = now()
    asked = Moment(moment.unix, moment.boottime - age, boot or moment.boot_id)
    DecisionCache(paths.state).keep("", asked, ttl, answer)


@pytest.mark.parametrize(
    ("answer", "code"), [(READY, 0), (BROKEN, 1), ({"decision": "unknown"}, 2), ({"decision": "maybe"}, 2)]
)
def test_a_plain_caller_gets_the_decision_as_its_exit_code(
    answer: dict[str, Any], code: int, run: Run, enrolled: Paths
) -> None:
    cache(enrolled, answer)

    done = run()

    assert done.returncode == code
    assert done.stdout.splitlines()[0] == {0: "ready", 1: "not_ready", 2: "unknown"}[code]


def test_a_plain_caller_without_a_decision_waits_for_one(run: Run, portal: LoopbackPortal) -> None:
    portal.answer = deciding(READY)

    assert run("--run", "llm-7b").returncode == 0
    assert [asked.path for asked in portal.asked] == ["/api/v1/clusters/alpha/nodes/node-1/readiness?run=llm-7b"]


@pytest.mark.parametrize(
    "stale", [{"age": 301.0}, {"age": 61.0, "ttl": 60.0}, {"age": 400.0, "ttl": 9999.0}, {"boot": "before"}]
)
def test_a_decision_past_its_time_or_of_another_boot_is_unknown(
    stale: dict[str, Any], run: Run, enrolled: Paths, portal: LoopbackPortal
) -> None:
    cache(enrolled, READY, **stale)
    portal.close()

    assert run().returncode == 2


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_question_that_is_refused_is_unknown(status: int, run: Run, portal: LoopbackPortal) -> None:
    portal.answer = lambda asked: Reply.of_json(status, {"decision": "ready", "detail": "no"}, Gate_TTL="300")

    assert run().returncode == 2


def test_a_page_with_200_is_unknown(run: Run, portal: LoopbackPortal) -> None:
    portal.answer = lambda asked: Reply(200, b"<html>ready</html>", {"Gate-TTL": "300", "Content-Type": "text/html"})

    assert run().returncode == 2


def test_a_prolog_holds_for_a_fresh_hardware_fault_of_this_node(run: Run, enrolled: Paths) -> None:
    cache(enrolled, BROKEN)

    done = run("--as", "slurm-prolog")

    assert done.returncode == 1
    assert "gpu-ecc" in done.stderr


@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "unknown", "reasons": [{**FAULT, "verdict": "unknown"}]},
        {"decision": "not_ready", "reasons": [{**FAULT, "verdict": "stale"}]},
        {"decision": "not_ready", "reasons": [{**FAULT, "owner": "platform"}]},
        {"decision": "not_ready", "reasons": [{**FAULT, "node": "node-2"}]},
        {"decision": "not_ready", "reasons": [{"code": "unsigned", "owner": None, "verdict": None, "node": None}]},
        {"decision": "not_ready", "reasons": [{**FAULT, "code": "suspect_check"}]},
        {"decision": "not_ready", "reasons": ["odd", None]},
        {"decision": "not_ready", "reasons": None},
        {"decision": "not_ready", "reasons": 7},
        {"decision": ["not_ready"], "reasons": {"verdict": "fail"}},
    ],
)
def test_a_prolog_lets_everything_else_pass(answer: dict[str, Any], run: Run, enrolled: Paths) -> None:
    cache(enrolled, answer)

    assert run("--as", "slurm-prolog").returncode == 0


def test_a_prolog_lets_an_old_fault_pass(run: Run, enrolled: Paths) -> None:
    cache(enrolled, BROKEN, age=301.0)

    assert run("--as", "slurm-prolog").returncode == 0


@pytest.mark.parametrize("caller", ["slurm-prolog", "slurm-health"])
def test_slurm_is_not_failed_by_an_agent_that_is_not_enrolled(caller: str, run: Run, enrolled: Paths) -> None:
    Path(enrolled.config).unlink()

    done = run("--as", caller)

    assert done.returncode == 0
    assert "nothing is held" in done.stderr


@pytest.mark.parametrize("caller", ["slurm-prolog", "slurm-health", "slurm-prologue"])
def test_a_slip_in_slurms_configuration_drains_no_fleet(caller: str, run: Run) -> None:
    done = run("--as", caller, "--no-such-option")

    assert done.returncode == 0
    assert "--help tells more" in done.stderr


@pytest.mark.parametrize("caller", ["slurm-prolog", "slurm-health"])
@pytest.mark.parametrize(
    "content", [b"\x00\xff", b'{"questions": {"": {"asked": 7, "answer": {"reasons": 7}, "ttl": "x"}}}', b"[" * 99999]
)
def test_slurm_is_not_failed_by_a_damaged_cache(caller: str, content: bytes, run: Run, enrolled: Paths) -> None:
    Path(enrolled.in_state("gate.json")).write_bytes(content)

    assert run("--as", caller).returncode == 0


@pytest.mark.parametrize("arguments", [["--home", "/no/such/home"], ["--no-such-option"]])
@pytest.mark.parametrize("streams", ["2>/dev/full >/dev/full", "2>&- >&- <&-"])
def test_slurm_is_not_failed_by_streams_that_nobody_can_write(streams: str, arguments: list[str]) -> None:
    command = shlex.join([sys.executable, str(ROOT / "agents"), "gate", "--as", "slurm-prolog", *arguments])

    assert subprocess.run(["sh", "-c", f"exec {command} {streams}"], check=False).returncode == 0


def test_what_concerns_a_run_is_never_held_on_the_node(run: Run, enrolled: Paths) -> None:
    moment = now()
    DecisionCache(enrolled.state).keep("llm-7b", moment, 300.0, BROKEN)

    assert run("--as", "slurm-prolog", "--run", "llm-7b").returncode == 0


def test_a_hostname_in_capitals_is_the_same_node(run: Run, enrolled: Paths) -> None:
    config = Path(enrolled.config)
    config.write_text(config.read_text().replace("node-1", "Node-1"))
    cache(enrolled, BROKEN)

    assert run("--as", "slurm-prolog").returncode == 1


def test_a_decision_that_this_boot_has_not_reached_is_void(enrolled: Paths) -> None:
    cache(enrolled, READY, age=-3600.0)

    assert DecisionCache(enrolled.state).read("", now()).word == "unknown"


def test_a_decision_is_told_though_no_file_can_be_written_anywhere(enrolled: Paths) -> None:
    cache(enrolled, READY)
    agent = [sys.executable, str(ROOT / "agents"), "gate", "--home", str(Path(enrolled.config).parent)]

    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *agent], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "ready\n")
    assert "cannot be renewed" in done.stderr


def test_a_run_a_job_does_not_make_the_cache_grow_without_end(enrolled: Paths) -> None:
    cached, moment = DecisionCache(enrolled.state), now()
    for number in range(MOST_RUNS + 5):
        cached.note_use(f"job-{number}", moment._replace(boottime=moment.boottime - 100 + number))

    assert cached.runs_in_use(moment) == [f"job-{number}" for number in reversed(range(5, MOST_RUNS + 5))]


def test_slurm_never_waits_for_the_portal(run: Run, enrolled: Paths, portal: LoopbackPortal) -> None:
    cache(enrolled, READY)

    def linger(asked: Asked) -> Reply:
        time.sleep(3.0)
        return accept(asked)

    portal.answer = linger
    started = time.monotonic()

    assert run("--as", "slurm-prolog").returncode == 0
    assert time.monotonic() - started < 2.5


def test_a_fault_drains_the_node_with_its_reason(run: Run, enrolled: Paths, tools: Path) -> None:
    cache(enrolled, BROKEN)

    assert run("--as", "slurm-health").returncode == 0

    assert (tools / "calls").read_text().splitlines()[-1] == (
        "update nodename=node-1 state=drain reason=countersign: gpu-ecc gpu3"
    )


def test_a_node_somebody_drained_keeps_its_reason(run: Run, enrolled: Paths, tools: Path) -> None:
    cache(enrolled, BROKEN)
    (tools / "state").write_text("IDLE+DRAIN")

    run("--as", "slurm-health")

    assert "update" not in (tools / "calls").read_text()


@pytest.mark.parametrize("answer", [READY, {**BROKEN, "drain_allowed": False}, {**BROKEN, "drain_allowed": "yes"}])
def test_nothing_is_drained_unless_the_portal_allows_it(
    answer: dict[str, Any], run: Run, enrolled: Paths, tools: Path
) -> None:
    cache(enrolled, answer)

    assert run("--as", "slurm-health").returncode == 0
    assert not (tools / "calls").exists()


def test_a_refresh_behind_the_callers_back_is_there_for_the_next_one(
    run: Run, enrolled: Paths, portal: LoopbackPortal
) -> None:
    cache(enrolled, READY)
    portal.answer = deciding(BROKEN)
    run("--as", "slurm-prolog")

    end = time.monotonic() + 10
    while DecisionCache(enrolled.state).read("", now()).word == "ready" and time.monotonic() < end:
        time.sleep(0.02)

    assert run("--as", "slurm-prolog").returncode == 1


def test_a_damaged_cache_is_unknown(enrolled: Paths) -> None:
    Path(enrolled.in_state("gate.json")).write_text('{"questions": {"": {"asked": "yesterday", "answer": 7}}}')

    assert DecisionCache(enrolled.state).read("", now()).word == "unknown"


def test_a_decision_counts_from_before_it_was_asked_for() -> None:
    assert Decision({"decision": "ready"}, age=300.0, ttl=300.0).word == "unknown"
    assert hardware_faults(Decision(BROKEN, age=300.0, ttl=300.0), "node-1") == []
    assert not may_drain(Decision(BROKEN, age=300.0, ttl=300.0))


def test_ticks_keep_a_decision_fresh_that_was_asked_for_today(enrolled: Paths) -> None:
    cached = DecisionCache(enrolled.state)
    cached.note_use("llm-7b", now())

    assert cached.runs_in_use(now()) == ["llm-7b"]
    assert cached.runs_in_use(now()._replace(boottime=now().boottime + 86401)) == []
    assert "answer" not in json.loads(Path(enrolled.in_state("gate.json")).read_text())["questions"]["llm-7b"]
