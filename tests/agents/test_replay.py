"""Replaying a capture: what is pushed, as whom, and how old it says it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from readiness_agent.config import Config, Paths, save_config, save_token
from tests.agents.portals import LoopbackPortal, Reply

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT.parent / "shared/captures"
SCHEMA = json.loads((ROOT / "checks/api/schema/report.v1.json").read_text())
Run = Callable[..., "subprocess.CompletedProcess[str]"]

needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not here")


@pytest.fixture
def run(paths: Paths, portal: LoopbackPortal) -> Run:
    """Replays as ``h200-01``, a node enrolled to be replayed."""
    save_config(paths, Config(portal=portal.url, cluster="alpha", hostname="h200-01", origin="replay"))
    save_token(paths.token, "cs_agent_k_s")
    environment = {**os.environ, "READINESS_AGENT_HOME": str(Path(paths.config).parent)}

    def agent(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "agents"), *arguments],
            text=True,
            capture_output=True,
            env=environment,
            check=False,
        )

    return agent


@needs_captures
def test_each_snapshot_is_one_full_report_that_keeps_its_distance(run: Run, portal: LoopbackPortal) -> None:
    done = run("replay", str(CAPTURES / "h200x2-burn"))

    assert done.returncode == 0, done.stderr
    ages = [
        float(asked.headers["report-age"])
        for asked in portal.asked
        if asked.path == "/api/v1/reports" and asked.report()["cadence"] == "tick"
    ]  # the last snapshot is now; unixtime.* of the capture: 0, 20, 121, 221, 322, 422, 481
    assert [round(age / 10) for age in ages] == [48, 46, 36, 26, 16, 6, 0]


@needs_captures
def test_a_replay_says_that_it_is_one_and_when_it_was_captured(run: Run, portal: LoopbackPortal) -> None:
    run("replay", str(CAPTURES / "h200x2"))

    reports = [report for report in portal.reports() if report["cadence"] == "tick"]
    assert {report["origin"] for report in reports} == {"replay"}
    assert [report["captured_at"] for report in reports] == ["2026-11-29T18:50:36.000Z", "2026-11-29T18:51:11.000Z"]
    assert {report["node"]["hostname"] for report in reports} == {"h200-01"}


@needs_captures
@pytest.mark.parametrize("name", ["h200x2", "h200x2-burn"])
def test_every_replayed_report_keeps_to_the_schema(name: str, run: Run, portal: LoopbackPortal) -> None:
    run("replay", str(CAPTURES / name))

    validator = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    assert portal.reports()
    for report in portal.reports():
        validator.validate(report)


@needs_captures
def test_the_gpus_of_a_capture_are_known_by_their_uuids_in_bus_order(run: Run, portal: LoopbackPortal) -> None:
    run("replay", str(CAPTURES / "h200x2-burn"))

    assert portal.reports()[0]["node"]["serials"] == {
        "gpu0": "GPU-00000000-0000-4000-8000-000000000001", "gpu1": "GPU-00000000-0000-4000-8000-000000000002",
    }  # fmt: skip


@needs_captures
def test_daily_items_are_reported_once(run: Run, portal: LoopbackPortal) -> None:
    run("replay", str(CAPTURES / "h200x2-burn"))

    assert [report["cadence"] for report in portal.reports()].count("daily") <= 1


@needs_captures
def test_a_refused_replay_ends_with_1_and_an_absent_portal_with_3(run: Run, portal: LoopbackPortal) -> None:
    portal.answer = lambda asked: Reply.of_json(403, {"detail": "This cluster takes no replays."})
    refused = run("replay", str(CAPTURES / "h200x2"))
    portal.close()
    absent = run("replay", str(CAPTURES / "h200x2"))

    assert (refused.returncode, absent.returncode) == (1, 3)
    assert "takes no replays" in refused.stderr


def test_a_capture_of_this_machine_replays_to_the_same_facts(run: Run, tmp_path: Path) -> None:
    archive = str(tmp_path / "c.tar.gz")
    run("capture", "-o", archive)

    replayed = json.loads(run("replay", archive, "--no-push", "--json").stdout)

    steady = {fact["name"]: fact["value"] for fact in replayed["facts"]}
    assert steady["memory_total"] == int(Path("/proc/meminfo").read_text().split()[1]) // 1024
    assert not any(problem["kind"] == "not_captured" for problem in replayed["problems"])


def test_redacting_changes_no_fact(run: Run, tmp_path: Path) -> None:
    archive = str(tmp_path / "c.tar.gz")
    run("capture", "-o", archive, "--redact")

    replayed = json.loads(run("replay", archive, "--no-push", "--json").stdout)

    live = {fact["name"]: fact["value"] for fact in replayed["facts"] if fact["item"] == "sysctl-swappiness"}["live"]
    assert live == int(Path("/proc/sys/vm/swappiness").read_text())
    assert not any(problem["kind"] == "not_captured" for problem in replayed["problems"])


@needs_captures
def test_a_replay_as_another_node_than_enrolled_says_where_to_find_it(run: Run, portal: LoopbackPortal) -> None:
    done = run("replay", str(CAPTURES / "h200x2"), "--as-node", "h200-02")

    assert done.returncode == 64
    assert "--home" in done.stderr
    assert portal.asked == []


@needs_captures
def test_portal_name_and_token_may_all_be_given(run: Run, portal: LoopbackPortal, paths: Paths, tmp_path: Path) -> None:
    done = run(
        "replay", str(CAPTURES / "h200x2"), "--home", str(tmp_path / "none"), "--portal", portal.url,
        "--as-node", "h200-02", "--token-file", paths.token,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert portal.reports()[0]["node"]["hostname"] == "h200-02"


def test_a_replayed_node_is_never_measured_live(run: Run) -> None:
    for command in ("tick", "check"):
        done = run(command)
        assert done.returncode == 78
        assert "replay" in done.stderr
