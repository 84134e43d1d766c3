"""The command line as people and schedulers meet it: a process, its output, its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.cli import COMMANDS
from readiness_agent.config import Paths
from tests.agents.portals import Asked, LoopbackPortal, Reply, accept

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the agent from the checkout, for the node of this test."""
    environment = {**os.environ, "READINESS_AGENT_HOME": str(tmp_path / "home")}

    def agent(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "agents"), *arguments], input=given, text=True, capture_output=True,
            env=environment, check=False,
        )  # fmt: skip

    return agent


def judged(*verdicts: tuple[str, str]) -> Callable[[Asked], Reply]:
    """A portal that answers every report with these verdicts."""

    def answer(asked: Asked) -> Reply:
        if asked.method == "GET":
            return accept(asked)
        listed = [{"item": item, "subject": "", "verdict": verdict, "layer": "system"} for item, verdict in verdicts]
        return Reply.of_json(202, {"report_id": asked.report()["report_id"], "verdicts": listed})

    return answer


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_tells_its_exit_codes(command: str, run: Run) -> None:
    done = run(command, "--help")

    assert done.returncode == 0
    assert "exit codes:" in done.stdout
    assert "--json" in done.stdout
    assert "--dry-run" in done.stdout


@pytest.mark.parametrize(
    "arguments", [[], ["no-such-command"], ["tick", "--no-such-option"], ["check", "no-such-item"], ["replay"]]
)
def test_wrong_usage_ends_with_64_and_one_sentence(arguments: list[str], run: Run) -> None:
    done = run(*arguments)

    assert done.returncode == 64
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["tick", "check", "gate"])
def test_a_node_that_is_not_enrolled_says_how_to_enrol(command: str, run: Run) -> None:
    done = run(command)

    assert done.returncode == 78
    assert "enrol this node first" in done.stderr


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([("clock-sync", "pass"), ("mem-oom", "warn"), ("hung-io", "na")], 0),
        ([("clock-sync", "pass"), ("mem-oom", "fail"), ("hung-io", "unknown")], 1),
        ([("clock-sync", "unknown")], 2),
        ([("clock-sync", "stale")], 2),
        ([], 2),
    ],
)
def test_check_ends_with_the_worst_verdict(
    verdicts: list[tuple[str, str]], code: int, run: Run, enrolled: Paths, portal: LoopbackPortal
) -> None:
    portal.answer = judged(*verdicts)

    done = run("check")

    assert done.returncode == code, done.stderr
    assert [report["cadence"] for report in portal.reports()] == ["check"]


def test_check_prints_the_worst_verdict_first(run: Run, enrolled: Paths, portal: LoopbackPortal) -> None:
    portal.answer = judged(("mem-oom", "pass"), ("clock-sync", "fail"))

    lines = run("check").stdout.splitlines()

    assert [line.split()[:2] for line in lines] == [["FAIL", "clock-sync"], ["PASS", "mem-oom"]]


def test_check_of_one_item_measures_and_counts_that_one(run: Run, enrolled: Paths, portal: LoopbackPortal) -> None:
    portal.answer = judged(("clock-sync", "pass"), ("mem-oom", "fail"))

    done = run("check", "clock-sync", "--json")

    assert done.returncode == 0
    assert [one["item"] for one in json.loads(done.stdout)["verdicts"]] == ["clock-sync"]
    assert portal.reports()[0]["covered"] == ["clock-sync"]


def test_check_without_its_portal_ends_with_3_and_keeps_the_report(
    run: Run, enrolled: Paths, portal: LoopbackPortal
) -> None:
    portal.close()

    done = run("check", "clock-sync")

    assert done.returncode == 3
    assert len(list(Path(enrolled.state, "spool").iterdir())) == 1


def test_check_without_pushing_judges_nothing_and_needs_no_enrolment(run: Run) -> None:
    done = run("check", "mem-oom", "--no-push", "--json")

    total = {fact["name"]: fact["value"] for fact in json.loads(done.stdout)["facts"]}["memory_total"]
    kibibytes = int(Path("/proc/meminfo").read_text().split()[1])
    assert total == pytest.approx(kibibytes / 1024, abs=1)


def test_a_dry_run_sends_and_changes_nothing(run: Run, enrolled: Paths, portal: LoopbackPortal) -> None:
    for command in ("tick", "check", "doctor", "gate"):
        run(command, "--dry-run")

    assert portal.asked == []
    assert list(Path(enrolled.state).iterdir()) == []


def test_enrolling_keeps_the_token_for_this_user_only(run: Run, paths: Paths, portal: LoopbackPortal) -> None:
    portal.answer = lambda asked: Reply.of_json(201, {"token": "cs_agent_k_s", "hostname": "h", "cluster": "alpha"})

    done = run("enroll", "--portal", portal.url, "--token-file", "-", "--json", given="cs_enrolment_k_s\n")

    assert done.returncode == 0, done.stderr
    assert Path(paths.token).read_text() == "cs_agent_k_s\n"
    assert Path(paths.token).stat().st_mode & 0o777 == 0o600
    assert "cs_agent" not in done.stdout + done.stderr


def test_enrolling_sends_who_the_machine_is(run: Run, paths: Paths, portal: LoopbackPortal) -> None:
    portal.answer = lambda asked: Reply.of_json(201, {"token": "cs_agent_k_s"})

    run("enroll", "--portal", portal.url, "--token-file", "-", "--cluster", "alpha", given="cs_enrolment_k_s\n")

    (asked,) = portal.asked
    sent: dict[str, Any] = json.loads(asked.body)
    assert asked.headers["authorization"] == "Bearer cs_enrolment_k_s"
    assert sent["hostname"] == os.uname().nodename.partition(".")[0].lower()
    assert sent["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert (sent["origin"], sent["cluster"]) == ("live", "alpha")


def test_a_hostname_that_is_taken_says_what_to_do(run: Run, paths: Paths, portal: LoopbackPortal) -> None:
    portal.answer = lambda asked: Reply.of_json(
        409, {"code": "already_enrolled", "detail": "node-1 is enrolled: allow re-enrolment."}
    )

    done = run("enroll", "--portal", portal.url, "--token-file", "-", given="cs_enrolment_k_s\n")

    assert done.returncode == 1
    assert "allow re-enrolment" in done.stderr
    assert not Path(paths.token).exists()


def test_an_enrolment_token_in_a_readable_file_is_refused(run: Run, tmp_path: Path, portal: LoopbackPortal) -> None:
    (tmp_path / "token.txt").write_text("cs_enrolment_k_s\n")
    (tmp_path / "token.txt").chmod(0o644)

    done = run("enroll", "--portal", portal.url, "--token-file", str(tmp_path / "token.txt"))

    assert done.returncode == 78
    assert portal.asked == []


def test_doctor_says_what_is_missing_and_why(run: Run, enrolled: Paths, portal: LoopbackPortal) -> None:
    done = run("doctor", "--json")

    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert "mem-oom" in document["measured"]
    assert any("no tick has run lately" in complaint for complaint in document["set_up"])
    assert all(problem["detail"] for problem in document["problems"])


def test_a_live_node_is_never_replayed(run: Run, enrolled: Paths, tmp_path: Path) -> None:
    archive = tmp_path / "c.tar.gz"
    run("capture", "-o", str(archive))

    done = run("replay", str(archive))

    assert done.returncode == 78
    assert "--origin replay" in done.stderr


def shell(line: str, home: Path) -> subprocess.CompletedProcess[str]:
    """One line of shell with the agent as ``$agent``."""
    environment = {**os.environ, "READINESS_AGENT_HOME": str(home), "agent": f"{sys.executable} {ROOT / 'agents'}"}
    return subprocess.run(["sh", "-c", line], text=True, capture_output=True, env=environment, check=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$agent parse nonsense /dev/null > /dev/full", 74),
        ("$agent --help > /dev/full", 74),
        ("$agent tick --no-such-option 2> /dev/full", 64),
        ("$agent parse nonsense /dev/null >&- 2>&- <&-", 2),
        ("LC_ALL=C $agent parse \u65e5\u672c /dev/null", 2),
        ("PYTHONIOENCODING=latin-1 $agent parse \u65e5\u672c /dev/null", 2),
        ("$agent parse \"$(printf '\\377')\" /dev/null", 2),
        ("$agent check \"$(printf '\\377')\"", 64),
        ("$agent tick --home \"$(printf '\\377\\033[31m')\" --dry-run", 78),
    ],
)
def test_no_stream_locale_or_argument_ends_in_a_traceback(line: str, code: int, tmp_path: Path) -> None:
    done = shell(line, tmp_path / "home")

    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "\x1b" not in done.stderr


def test_a_reader_that_leaves_is_told_of_like_any_broken_pipe(tmp_path: Path) -> None:
    done = shell("{ $agent --help; echo $? >&2; } | true", tmp_path)

    assert done.stderr.splitlines() in (["141"], ["0"])  # 0: all was written before the reader left


def test_what_the_portal_says_cannot_move_the_cursor(run: Run, portal: LoopbackPortal) -> None:
    portal.answer = lambda asked: Reply.of_json(403, {"detail": "no\x1b[2J\r"})

    done = run("enroll", "--portal", portal.url, "--token-file", "-", given="cs_enrolment_k_s\n")

    assert done.returncode == 1
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("token", ["", "two words", "caf\u00e9", "line\nbreak", "\x00", 7])
def test_an_odd_token_is_no_grant_and_changes_nothing(
    token: object, run: Run, paths: Paths, portal: LoopbackPortal
) -> None:
    portal.answer = lambda asked: Reply.of_json(201, {"token": token, "hostname": "h", "cluster": "alpha"})

    done = run("enroll", "--portal", portal.url, "--token-file", "-", given="cs_enrolment_k_s\n")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not Path(paths.token).exists()


def test_verdicts_that_are_none_prove_nothing(run: Run, enrolled: Paths, portal: LoopbackPortal) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply.of_json(202, {"report_id": asked.report()["report_id"], "verdicts": verdicts})

    portal.answer = answer
    for verdicts in (None, 7, ["pass"], [{"item": "clock-sync", "verdict": ["pass"]}], [{"verdict": "excellent"}]):
        assert run("check", "clock-sync").returncode == 2, verdicts
