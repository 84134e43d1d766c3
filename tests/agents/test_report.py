"""What a scheduled report tells of items that only ride along with it."""

from __future__ import annotations

from typing import Any

from readiness_agent.facts import MISSING, Findings, ProbeResult
from readiness_agent.node import now
from readiness_agent.report import Measured, Origin, build_report
from readiness_agent.runner import Outcome
from readiness_agent.source import Probe


def outcome(cadence: str, item: str, *, told: bool, missing: bool = False) -> Outcome:
    """One probe of *cadence* that told something of its item, or not."""
    findings = Findings(12.0)
    if told:
        findings.fact(item, "share", 50, "percent")
        findings.evidence("half", item)
    if missing:
        findings.problem(item, MISSING, "no job seen")

    def unused(*_: object) -> ProbeResult:
        raise AssertionError("it has run already")

    return Outcome(Probe(item, (item,), cadence, unused), findings.result(), 0.1, (), ())


def report(cadence: str, *outcomes: Outcome) -> dict[str, Any]:
    measured = Measured(outcomes, now(), now())
    return build_report(cadence, measured, Origin("gpu001"), evidence=[], lost={"spool": 0, "bad": 0}, plan_etag=None)


def test_a_tick_that_finds_no_job_takes_nothing_back_of_what_an_earlier_one_saw() -> None:
    sent = report("tick", outcome("run", "shm-size", told=False, missing=True), outcome("tick", "mem-oom", told=True))

    assert (sent["covered"], sent["problems"]) == (["mem-oom"], [])


def test_what_rode_along_and_was_measured_in_part_only_is_left_out_whole() -> None:
    sent = report("daily", outcome("run", "numa-binding", told=True, missing=True))

    assert (sent["covered"], sent["facts"], sent["problems"]) == ([], [], [])


def test_what_rode_along_and_was_measured_is_told() -> None:
    sent = report("tick", outcome("run", "shm-size", told=True))

    assert (sent["covered"], [fact["value"] for fact in sent["facts"]]) == (["shm-size"], [50])


def test_who_asks_for_it_hears_that_there_is_no_job() -> None:
    sent = report("check", outcome("run", "shm-size", told=False, missing=True))

    assert (sent["covered"], [one["kind"] for one in sent["problems"]]) == (["shm-size"], [MISSING])


def test_an_item_of_the_tick_that_could_not_be_measured_is_told_by_each_tick() -> None:
    sent = report("tick", outcome("tick", "mem-oom", told=False, missing=True))

    assert (sent["covered"], [one["kind"] for one in sent["problems"]]) == (["mem-oom"], [MISSING])
