"""One tick from end to end: real probes' processes, a real spool, a real HTTP server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from readiness_agent import spool as spool_module
from readiness_agent.agent import Agent
from readiness_agent.config import Paths
from readiness_agent.facts import Findings, ProbeResult
from readiness_agent.node import Moment, boot_id
from readiness_agent.source import Probe, ProbeContext, Source
from readiness_agent.spool import Spool
from readiness_agent.ticking import Tick, TickResult
from tests.agents.conftest import TOKEN, missing_tool_probe, uptime_probe
from tests.agents.portals import Asked, LoopbackPortal, Reply, accept

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "checks/api/schema/report.v1.json").read_text())

FAST = uptime_probe("fast", "one")
SLOW = uptime_probe("slow", "slow", cadence="daily")
ABSENT = missing_tool_probe("absent", "two")

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def tick(enrolled: Paths) -> Callable[..., TickResult]:
    """Runs a tick as a new process would: nothing is kept but what lies on disk."""

    def run(*probes: Probe) -> TickResult:
        return Tick(Agent(enrolled), lambda: probes or (FAST, ABSENT, SLOW), spread=0.0).run()

    return run


def make_due(paths: Paths, event: str = "tick") -> None:
    """As if *event* had been long ago."""
    path = Path(paths.in_state("state.json"))
    state = json.loads(path.read_text())
    state["moments"].pop(event, None)
    path.write_text(json.dumps(state))


def test_a_first_tick_gets_the_plan_and_delivers_a_full_and_a_daily_report(
    tick: Callable[..., TickResult], portal: LoopbackPortal
) -> None:
    result = tick()

    assert [asked.path for asked in portal.asked] == ["/api/v1/agent/plan", "/api/v1/reports", "/api/v1/reports"]
    assert [(report["cadence"], report["covered"]) for report in portal.reports()] == [
        ("tick", ["one", "two"]), ("daily", ["slow"]),
    ]  # fmt: skip
    assert (result.sent, result.waiting, result.messages) == (2, 0, [])


def test_every_report_keeps_to_the_schema_both_sides_share(
    tick: Callable[..., TickResult], portal: LoopbackPortal
) -> None:
    tick()

    validator = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    for report in portal.reports():
        validator.validate(report)


def test_a_report_carries_facts_problems_and_evidence(tick: Callable[..., TickResult], portal: LoopbackPortal) -> None:
    tick()

    report = portal.reports()[0]
    assert [(fact["item"], fact["name"], fact["unit"]) for fact in report["facts"]] == [("one", "uptime", "seconds")]
    assert [(one["item"], one["subject"], one["kind"]) for one in report["problems"]] == [("two", "*", "missing")]
    assert [(one["probe"], one["items"], one["truncated"]) for one in report["evidence"]] == [("fast", ["one"], False)]
    assert report["node"]["hostname"] == "node-1"
    assert report["node"]["boot_id"] == boot_id()


def test_a_tick_with_nothing_due_asks_once_whether_the_plan_changed(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    tick()
    make_due(enrolled, "asked")
    portal.asked.clear()
    portal.answer = lambda asked: Reply(304, headers={"ETag": '"plan-1"'})

    tick()

    assert [(asked.method, asked.headers["if-none-match"]) for asked in portal.asked] == [("GET", '"plan-1"')]


def test_a_tick_with_nothing_due_a_moment_later_says_nothing(
    tick: Callable[..., TickResult], portal: LoopbackPortal
) -> None:
    tick()
    portal.asked.clear()

    tick()

    assert portal.asked == []


def test_raw_text_is_not_sent_again_while_its_facts_stay(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    tick()
    make_due(enrolled)

    tick()

    assert portal.reports()[-1]["cadence"] == "tick"
    assert portal.reports()[-1]["evidence"] == []


def test_while_the_portal_is_away_reports_wait_and_go_later(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    portal.answer = lambda asked: Reply(503)
    away = tick()
    assert (away.sent, away.waiting) == (0, 2)

    portal.answer = accept
    portal.asked.clear()
    back = tick()

    assert (back.sent, back.waiting) == (2, 0)
    assert [report["cadence"] for report in portal.reports()] == ["tick", "daily"]


def test_retry_after_is_obeyed_by_the_next_ticks(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    tick()
    make_due(enrolled)
    portal.answer = lambda asked: Reply(429, headers={"Retry-After": "600"})
    tick()
    portal.asked.clear()
    make_due(enrolled)

    result = tick()

    assert portal.asked == []
    assert (len(result.reports), result.waiting) == (1, 2)


def test_a_portal_that_refuses_only_the_plan_still_gets_the_reports(
    tick: Callable[..., TickResult], portal: LoopbackPortal
) -> None:
    portal.answer = lambda asked: Reply.of_json(403, {}) if asked.method == "GET" else accept(asked)

    result = tick()

    assert (result.sent, result.waiting) == (2, 0)
    assert any("403" in message for message in result.messages)


def test_a_plan_said_to_be_new_is_asked_for_by_the_next_tick(
    tick: Callable[..., TickResult], portal: LoopbackPortal
) -> None:
    portal.answer = lambda asked: (
        accept(asked)
        if asked.method == "GET"
        else Reply.of_json(202, {"report_id": asked.report()["report_id"], "plan_etag": "plan-2"})
    )
    tick()
    portal.asked.clear()

    tick()

    assert [asked.path for asked in portal.asked] == ["/api/v1/agent/plan"]


def test_a_probe_that_two_reports_need_runs_once(tick: Callable[..., TickResult], portal: LoopbackPortal) -> None:
    both = uptime_probe("both", "one", "slow")

    tick(both)

    tick_report, daily_report = portal.reports()
    assert (tick_report["cadence"], daily_report["cadence"]) == ("tick", "daily")
    assert tick_report["facts"] == daily_report["facts"]


def test_a_lost_report_is_told_of_by_the_next_one(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    def refuse(asked: Asked) -> Reply:
        return accept(asked) if asked.method == "GET" else Reply.of_json(422, {"detail": "odd"})

    portal.answer = refuse
    tick(FAST)
    make_due(enrolled)
    portal.answer = accept

    tick(FAST)

    assert portal.reports()[-1]["lost"] == {"spool": 0, "bad": 1}


def test_a_spool_that_cannot_be_written_loses_nothing(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    Path(enrolled.in_state("spool")).write_text("a file where the directory should be")

    result = tick(FAST)

    assert [report["cadence"] for report in portal.reports()] == ["tick"]
    assert any("unwritable" in message for message in result.messages)


def test_two_ticks_at_once_make_one_report(enrolled: Paths, portal: LoopbackPortal) -> None:
    environment = {**os.environ, "READINESS_AGENT_HOME": str(Path(enrolled.config).parent)}
    command = [sys.executable, str(ROOT / "agents"), "tick"]
    portal.answer = lambda asked: (
        Reply.of_json(200, {"schemas": [1], "tick": ["clock-sync"], "daily": []}, ETag='"p"')
        if asked.method == "GET"
        else accept(asked)
    )

    ticks = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(4)]

    assert [one.wait(30) for one in ticks] == [0, 0, 0, 0]
    assert [report["cadence"] for report in portal.reports()] == ["tick"]


def test_the_token_never_stands_on_a_command_line(enrolled: Paths, portal: LoopbackPortal) -> None:
    seen: list[bytes] = []

    def watch(asked: Asked) -> Reply:
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                seen.append((directory / "cmdline").read_bytes() + (directory / "environ").read_bytes())
            except OSError:
                continue
        return accept(asked)

    portal.answer = watch
    environment = {**os.environ, "READINESS_AGENT_HOME": str(Path(enrolled.config).parent)}
    subprocess.run([sys.executable, str(ROOT / "agents"), "tick"], env=environment, check=True, capture_output=True)

    assert any(b"agents\0tick" in line for line in seen)
    assert not any(TOKEN.encode() in line for line in seen)


def test_a_tick_gives_way_to_everything_else_on_the_node(enrolled: Paths, portal: LoopbackPortal) -> None:
    niceness: list[int] = []

    def look(asked: Asked) -> Reply:
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                if (directory / "cmdline").read_bytes().endswith(b"agents\0tick\0--home\0" + home.encode() + b"\0"):
                    niceness.append(int((directory / "stat").read_text().rpartition(")")[2].split()[16]))
            except OSError:
                continue
        return accept(asked)

    portal.answer = look
    home = str(Path(enrolled.config).parent)
    subprocess.run([sys.executable, str(ROOT / "agents"), "tick", "--home", home], check=True, capture_output=True)

    assert set(niceness) == {19}


def test_a_report_is_on_disk_before_it_is_sent(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    spooled: list[int] = []

    def look(asked: Asked) -> Reply:
        if asked.method == "POST":
            spooled.append(len(Spool(enrolled.state).waiting()))
        return accept(asked)

    portal.answer = look
    tick(FAST)

    assert spooled == [1]


def test_a_spooled_report_of_before_a_reboot_says_how_old_it_is(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    portal.answer = lambda asked: Reply(503)
    tick(FAST)
    spool = Spool(enrolled.state)
    entry = spool.load(spool.waiting()[0])
    assert entry is not None
    yesterday = Moment(entry.written.unix - 86400, entry.written.boottime, "the-boot-before")
    spool.delivered(entry)
    spool.add(entry.report_id, entry.body, yesterday, entry.lost)
    portal.answer = accept
    portal.asked.clear()

    tick(FAST)

    ages = [float(asked.headers["report-age"]) for asked in portal.asked if asked.method == "POST"]
    assert ages[0] >= 86400


def test_a_spool_stays_within_its_bounds_though_the_portal_was_never_there(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "MAX_FILES", 2)
    portal.close()

    for _ in range(5):
        tick(FAST)
        make_due(enrolled)

    spool = Spool(enrolled.state)
    assert len(spool.waiting()) == 2
    last = spool.load(spool.waiting()[-1])
    assert last is not None
    told = sum(entry.lost["spool"] for entry in map(spool.load, spool.waiting()) if entry) + spool.lost()["spool"]
    assert told == 3


def test_text_that_no_json_can_hold_does_not_cost_the_report(
    tick: Callable[..., TickResult], portal: LoopbackPortal
) -> None:
    def odd(source: Source, context: ProbeContext) -> ProbeResult:
        findings = Findings(source.now_boottime())
        findings.fact("one", "name", "no utf-8: \udcff", "text", subject="\udcff" * 70)
        findings.fact("one", "name", "the same", "text", subject="\udcff" * 69 + "x")
        findings.problem("one", "error", "\ud800" * 2000, subject="s" * 200)
        findings.evidence("\udc80 raw", "one")
        return findings.result()

    tick(Probe("odd", ("one",), "tick", odd))

    (report,) = portal.reports()
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    json.dumps(report, ensure_ascii=False).encode()
    assert len({fact["subject"] for fact in report["facts"]}) == 2


@pytest.mark.parametrize("step", [3600.0, -3600.0, 10 * 365 * 86400.0, -10 * 365 * 86400.0])
def test_a_stepped_clock_makes_nothing_run_twice_and_no_report_young(
    step: float, tick: Callable[..., TickResult], portal: LoopbackPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    portal.answer = lambda asked: Reply(503) if asked.method == "POST" else accept(asked)
    tick(FAST)
    portal.answer, wall = accept, time.time
    monkeypatch.setattr(time, "time", lambda: wall() + step)
    portal.asked.clear()

    result = tick(FAST)

    assert result.reports == []
    (sent,) = [asked for asked in portal.asked if asked.method == "POST"]
    assert float(sent.headers["report-age"]) < 60


def test_a_portal_that_takes_some_reports_and_asks_for_a_pause_gets_one(
    tick: Callable[..., TickResult], portal: LoopbackPortal, enrolled: Paths
) -> None:
    portal.answer = lambda asked: (
        Reply(429, headers={"Retry-After": "600"})
        if asked.method == "POST" and asked.report()["cadence"] == "daily"
        else accept(asked)
    )
    result = tick()
    portal.asked.clear()
    make_due(enrolled)

    tick()

    assert (result.sent, result.waiting) == (1, 1)
    assert portal.asked == []


@pytest.mark.parametrize("flood", ["facts", "problems"])
def test_an_item_with_too_much_to_say_costs_itself_and_is_unknown(
    flood: str, tick: Callable[..., TickResult], portal: LoopbackPortal
) -> None:
    def talk(source: Source, context: ProbeContext) -> ProbeResult:
        findings = Findings(source.now_boottime())
        for number in range(11_000):
            if flood == "facts":
                findings.fact("two", "size", number, "count", subject=f"disk{number}")
            else:
                findings.problem("two", "hung", "no answer", subject=f"disk{number}")
        return findings.result()

    tick(FAST, Probe("talkative", ("two",), "tick", talk))

    (report,) = portal.reports()
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert {fact["item"] for fact in report["facts"]} == {"one"}
    assert [(one["item"], one["subject"]) for one in report["problems"]] == [("two", "*")]
