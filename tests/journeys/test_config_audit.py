"""A training's own files are audited from where they lie: what is wrong with them is told, and nothing else is."""

import hashlib
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.signoff import Team
from tests.journeys.user import Agent, Portal
from tests.training_setups import SOUND, fault, write_setup

PLANTED = (
    "apex", "a batch that is no multiple", "a short time-out", "weights past the engine", "saved by one rank",
    "a tag by rank", "optimizer on NVMe", "the scheduler's signal taken", "every collective logged",
    "a limit before the end",
)  # fmt: skip
VERDICTS = {
    "amp-config": "fail", "parallel-layout": "fail", "collective-timeout": "fail", "checkpoint-api": "fail",
    "checkpoint-tag": "fail", "zero-offload-compat": "unknown", "ops-error-dump": "fail", "ops-log-policy": "fail",
    "scheduler-fit": "fail", "grad-norm-first-step": "fail",
}  # fmt: skip
CLEAN = dict.fromkeys(VERDICTS, "pass") | {"zero-offload-compat": "na"}
ASKED = sorted(VERDICTS)


def log_of(norm: float) -> str:
    """150 steps as the training writes them; step 100 was saved in 50 s."""
    lines = [
        {"step": step, "loss": 10.4 - step / 100, "lr": 3e-6 * step, "grad_norm": norm, "tokens_per_second": 409_600}
        for step in range(1, 151)
    ]
    lines[99]["save_seconds"] = 50.0
    return "".join(json.dumps(line) + "\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Training:
    """One run of the portal with its files."""

    team: Team
    slug: str
    place: Path
    agent: Agent
    token_file: Path

    def audit(self, kind: str, *paths: Path) -> tuple[int, dict[str, str], str]:
        """``audit`` as somebody on a login machine calls it; its exit status, verdicts and standard error."""
        done = self.agent(
            "audit", kind, *map(str, paths), "--run", self.slug, "--portal", self.team.portal.url,
            "--token-file", str(self.token_file), "--json",
        )  # fmt: skip
        return done.returncode, verdicts_in(done), done.stderr

    def told(self) -> list[dict[str, Any]]:
        """What the ledger says was measured, newest first."""
        read = self.team.portal.ask(f"/api/v1/runs/{self.slug}/ledger", token=self.team.operator_token)
        assert read.status == 200, read.text
        return [entry for entry in read.json["entries"] if entry["what"] == "run_measured"]


def verdicts_in(done: "subprocess.CompletedProcess[str]") -> dict[str, str]:
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    return {one["item"]: one["verdict"] for one in said.get("verdicts", ())}


@pytest.fixture(scope="module")
def team(portal: Portal) -> Team:
    """A cluster of H200 nodes, and somebody whose runs they are."""
    made = Team(portal.cluster("audits", profile="8xh200"))
    made.add("lena", "lead")
    made.cluster.enrol("audits001")
    made.cluster.enrol("audits002")
    return made


@pytest.fixture
def token_file(team: Team, tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(team.operator_token)
    path.chmod(0o600)
    return path


def planned(team: Team, slug: str, files: Mapping[str, Path]) -> None:
    """A run that takes ten days, with the files that it is to be signed with."""
    start = datetime.now(UTC) + timedelta(days=1)
    body = {
        "cluster": team.cluster.slug, "slug": slug, "owner": team.who("lena"), "nodes": "audits[001-002]",
        "name": slug, "nodes_needed": 2, "world_size": 32, "model_name": "orca-13b", "dataset": "web-v4",
        "planned_start": start.isoformat(), "planned_end": (start + timedelta(days=10)).isoformat(),
        "artefacts": [
            {"name": name, "digest": "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()}
            for name, path in files.items()
        ],
    }  # fmt: skip
    made = team.portal.ask("/api/v1/runs", token=team.operator_token, body=body)
    assert made.status == 201, made.text


def training(team: Team, agent: Agent, token_file: Path, slug: str, place: Path, *faults: str) -> Training:
    write_setup(place, *(fault(name) for name in faults))
    planned(team, slug, {name: place / name for name in SOUND})
    return Training(team, slug, place, agent, token_file)


@pytest.fixture
def log_place(tmp_path: Path) -> Path:
    place = tmp_path / "log"
    place.mkdir()
    return place


def both(run: Training, log: Path) -> dict[str, str]:
    """The verdicts after the configuration and then the log were audited."""
    _code, config, _said = run.audit("config", run.place)
    _code, logged, _said = run.audit("log", log)
    return config | logged


def test_planted_faults_get_exactly_their_verdicts(
    team: Team, agent: Agent, token_file: Path, tmp_path: Path, log_place: Path
) -> None:
    run = training(team, agent, token_file, "audits-faulty", tmp_path / "code", *PLANTED)
    (log_place / "train.jsonl").write_text(log_of(norm=431.0))
    found = both(run, log_place / "train.jsonl")

    assert {item: found[item] for item in ASKED} == VERDICTS
    assert sorted(found) == ASKED


def test_their_clean_twin_passes(team: Team, agent: Agent, token_file: Path, tmp_path: Path, log_place: Path) -> None:
    run = training(team, agent, token_file, "audits-clean", tmp_path / "code")
    (log_place / "train.jsonl").write_text(log_of(norm=3.9))
    found = both(run, log_place / "train.jsonl")

    assert {item: found[item] for item in ASKED} == CLEAN
    assert run.told()[0]["data"]["tool"] == "audit log"
    assert run.told()[1]["data"]["verdicts"]["amp-config"] == "pass"


def test_exit_status_says_the_worst_verdict(team: Team, agent: Agent, token_file: Path, tmp_path: Path) -> None:
    run = training(team, agent, token_file, "audits-exit", tmp_path / "code", "apex")
    failed, verdicts, said = run.audit("config", run.place)
    (run.place / "train.py").write_text(SOUND["train.py"])
    unknown, other, _said = run.audit("config", run.place)

    assert (failed, verdicts["amp-config"]) == (1, "fail")
    assert "apex.amp is used" in said
    # The sound file is not the one that the run is to be signed with.
    assert (unknown, other["amp-config"]) == (2, "unknown")


def test_an_enrolled_node_needs_neither_address_nor_token(
    team: Team, agent: Agent, token_file: Path, tmp_path: Path
) -> None:
    training(team, agent, token_file, "audits-node", tmp_path / "code")
    agent.enrol(team.portal, team.cluster.enrolment_token, "audits009")
    done = agent("audit", "config", str(tmp_path / "code"), "--run", "audits-node", "--json")

    assert verdicts_in(done)["checkpoint-tag"] == "pass"
    assert json.loads(done.stdout)["duplicate"] is False


def test_the_run_page_tells_what_was_measured(team: Team, agent: Agent, token_file: Path, tmp_path: Path) -> None:
    run = training(team, agent, token_file, "audits-page", tmp_path / "code")
    run.audit("config", run.place)
    page = team.sender("lena").look("/runs/audits-page/")

    assert "measured the run" in page.text


def test_a_run_that_is_not_there_is_one_sentence_and_exit_3(
    team: Team, agent: Agent, token_file: Path, tmp_path: Path
) -> None:
    write_setup(tmp_path / "code")
    code, verdicts, said = Training(team, "no-such-run", tmp_path, agent, token_file).audit("config", tmp_path / "code")

    assert (code, verdicts) == (3, {})
    assert "You know no run 'no-such-run'" in said
