"""``readiness-agent audit`` as people meet it: its output, its exit codes, and what it sends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from readiness_agent.audits import AuditFact, AuditProblem, AuditResult, AuditText, Finding
from readiness_agent.audits.sending import evidence_document, push_evidence
from readiness_agent.config import Config, Paths
from readiness_agent.errors import AgentError
from tests.agents.portals import Asked, LoopbackPortal, Reply
from tests.training_setups import fault, write_setup

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
SCHEMA = json.loads((ROOT / "checks/api/schema/run-evidence.v1.json").read_text(encoding="utf-8"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the agent from the checkout, for the node of this test."""
    environment = {**os.environ, "READINESS_AGENT_HOME": str(tmp_path / "home")}

    def agent(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "agents"), *arguments]
        return subprocess.run(command, text=True, capture_output=True, env=environment, check=False)

    return agent


def judging(*verdicts: str) -> Any:
    """A portal that judges an item each so."""

    def answer(asked: Asked) -> Reply:
        listed = [{"item": f"item-{place}", "subject": "", "verdict": one} for place, one in enumerate(verdicts)]
        return Reply.of_json(202, {"evidence_id": asked.report()["evidence_id"], "verdicts": listed})

    return answer


def audit(run: Run, place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run("audit", "config", str(place), *options)


def test_without_a_run_it_prints_facts_and_findings_and_sends_nothing(
    run: Run,
    tmp_path: Path,
    portal: LoopbackPortal,
) -> None:
    done = audit(run, write_setup(tmp_path / "code", fault("apex")))

    assert done.returncode == 0
    assert "amp-config  apex_used = True bool" in done.stdout
    assert "apex.amp is used" in done.stdout
    assert portal.asked == []


def test_what_it_could_not_tell_ends_with_2(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    done = audit(run, tmp_path / "train.py", "--json")

    assert done.returncode == 2
    assert {one["kind"] for one in json.loads(done.stdout)["problems"]} <= {"missing", "error"}


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [(("pass", "warn", "na"), 0), (("pass", "fail", "unknown"), 1), (("pass", "unknown"), 2), ((), 2)],
)  # fmt: skip
def test_the_exit_code_is_the_worst_verdict(
    run: Run,
    tmp_path: Path,
    enrolled: Paths,
    portal: LoopbackPortal,
    verdicts: tuple[str, ...],
    code: int,
) -> None:
    portal.answer = judging(*verdicts)
    done = audit(run, write_setup(tmp_path / "code"), "--run", "run-7")

    assert done.returncode == code, done.stderr


def test_an_enrolled_node_sends_its_evidence_with_its_own_token(
    run: Run,
    tmp_path: Path,
    enrolled: Paths,
    portal: LoopbackPortal,
) -> None:
    portal.answer = judging("pass")
    audit(run, write_setup(tmp_path / "code"), "--run", "run-7")
    (asked,) = portal.asked

    assert (asked.path, asked.headers["authorization"].split("_")[1]) == ("/api/v1/runs/run-7/evidence", "agent")
    jsonschema.validate(asked.report(), SCHEMA)
    assert {one["name"] for one in asked.report()["artefacts"]} == {"launch.sbatch", "conf/ds_config.json", "train.py"}


def test_a_portal_that_refuses_is_told_in_its_words_and_ends_with_3(
    run: Run,
    tmp_path: Path,
    enrolled: Paths,
    portal: LoopbackPortal,
) -> None:
    portal.answer = lambda asked: Reply.of_json(422, {"detail": "run-7 names no dataset."})
    done = audit(run, write_setup(tmp_path / "code"), "--run", "run-7")

    assert (done.returncode, len(portal.asked)) == (3, 1)
    assert "run-7 names no dataset." in done.stderr


@pytest.mark.parametrize(
    "options",
    [["--run", "x", "--portal", "https://cs.example"], ["--run", "x", "--token-file", "t"], ["--no-such-option"]],
)
def test_half_of_what_belongs_together_is_wrong_usage(run: Run, tmp_path: Path, options: list[str]) -> None:
    done = audit(run, write_setup(tmp_path / "code"), *options)

    assert (done.returncode, done.stdout) == (64, "")


def test_a_path_that_is_not_there_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    done = audit(run, tmp_path / "nowhere")

    assert done.returncode == 64
    assert "is not there" in done.stderr


def test_dry_run_reads_and_sends_nothing(run: Run, enrolled: Paths, portal: LoopbackPortal) -> None:
    done = run("audit", "config", "code", "--run", "run-7", "--dry-run")

    assert (done.returncode, portal.asked) == (0, [])
    assert "would audit (config) code, and push it as evidence of run-7" in done.stdout


def result(**changes: Any) -> AuditResult:
    told: dict[str, Any] = {
        "covered": ("amp-config",), "facts": (AuditFact("amp-config", "precision", "bf16", "text"),), "problems": (),
        "findings": (Finding("amp-config", "train.py:3", "autocast in bf16"),), "evidence": (), "artefacts": (),
    }  # fmt: skip
    return AuditResult(**told | changes)


def test_findings_are_the_text_behind_an_item() -> None:
    document = evidence_document("audit config", result(), "login-1", 1_764_000_000.0)

    jsonschema.validate(document, SCHEMA)
    assert [(one["text"], one["items"]) for one in document["evidence"]] == [
        ("train.py:3: autocast in bf16", ["amp-config"])
    ]


def test_a_number_that_json_cannot_carry_becomes_a_problem() -> None:
    odd = result(facts=(AuditFact("amp-config", "precision", float("nan"), "ratio"),))
    document = evidence_document("audit config", odd, "login-1", 1_764_000_000.0)

    assert (document["facts"], document["problems"][0]["kind"]) == ([], "unreadable")


def test_texts_and_names_of_any_bytes_and_length_are_sendable() -> None:
    odd = result(
        problems=(AuditProblem("amp-config", "error", "\udcff" * 5000),),
        evidence=(AuditText("audit config", "\0\udc80" * 9000, ("amp-config",)),),
    )
    document = json.loads(json.dumps(evidence_document("audit config", odd, "login-1", 1_764_000_000.0)))

    jsonschema.validate(document, SCHEMA)
    assert document["evidence"][0]["truncated"] is True


def test_a_portal_that_failed_gets_the_same_evidence_again(portal: LoopbackPortal, monkeypatch: Any) -> None:
    monkeypatch.setattr("readiness_agent.audits.sending.PAUSES", (0.0, 0.0))
    portal.answer = lambda asked: (
        Reply.of_json(503, {}) if len(portal.asked) < 3 else judging("pass")(asked)
    )  # fmt: skip
    document = evidence_document("audit config", result(), "login-1", 1_764_000_000.0)
    push_evidence(Config(portal=portal.url), "token", "run-7", document)

    assert [asked.report()["evidence_id"] for asked in portal.asked] == [document["evidence_id"]] * 3


def test_a_portal_that_stays_away_ends_with_3(portal: LoopbackPortal, monkeypatch: Any) -> None:
    monkeypatch.setattr("readiness_agent.audits.sending.PAUSES", (0.0, 0.0))
    portal.close()
    document = evidence_document("audit config", result(), "login-1", 1_764_000_000.0)
    with pytest.raises(AgentError) as away:
        push_evidence(Config(portal=portal.url), "token", "run-7", document)

    assert away.value.exit_code == 3
