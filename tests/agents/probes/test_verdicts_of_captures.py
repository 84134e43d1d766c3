"""From raw text to verdicts: every snapshot of a capture through the probes and the shipped rules, in one piece."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from checks.domain.catalogue import load_catalogue
from checks.domain.evaluation import Judgement, judge
from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.items import Item
from checks.domain.measuring import Measured, measure_covered
from checks.domain.memory import ItemMemory
from checks.domain.profiles import Ruleset, TrainingEnv
from checks.domain.verdicts import Verdict
from readiness_agent.capture import read_capture
from readiness_agent.probes import PROBES
from readiness_agent.replaying import Capture, ReplaySource, Snapshot
from readiness_agent.report import Measured as Told
from readiness_agent.runner import Outcome
from tests.agents.parsers.inputs import SHARED

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "tests" / "captures" / "example-2gpu"
RULES = Ruleset.build(load_catalogue(ROOT / "checks" / "catalog"), "2xh200-virtual", {}, TrainingEnv.NONE)
PROBED = {item for probe in PROBES for item in probe.items}
MEASURED = sorted(key for key in RULES.of_nodes & PROBED if not RULES.items[key].shadow)  # fmt: skip

Verdicts = dict[tuple[str, str], Judgement]


def probe_all(capture: Capture, snapshot: Snapshot) -> Told:
    """As a full report tells it."""
    results = [(probe, probe.run(ReplaySource(snapshot), capture.context)) for probe in PROBES]
    outcomes = [Outcome(probe, result, 0.0, (), ()) for probe, result in results]
    return Told(outcomes, snapshot.moment, snapshot.moment).scheduled()


def step(item: str, result: Told, memories: dict[str, ItemMemory], snapshot: Snapshot) -> dict[str, Measured]:
    moment = datetime.fromtimestamp(snapshot.moment.unix, UTC)
    facts = [Fact(one.item, one.subject, one.name, one.value, one.unit, moment) for one in result.facts()]
    problems = [Problem(one.item, one.subject, ProblemKind(one.kind), one.detail) for one in result.problems()]
    return measure_covered(
        RULES,
        item,
        [one for one in facts if one.item == item],
        [one for one in problems if one.item == item],
        memories,
        observed_at=moment,
        boot_id=snapshot.moment.boot_id,
    )


def verdicts(path: Path) -> Verdicts:
    """The raw verdict of every row after the last snapshot."""
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    return judged(path)


@cache
def judged(path: Path) -> Verdicts:
    capture = read_capture(str(path))
    memories: dict[str, dict[str, ItemMemory]] = {item: {} for item in MEASURED}
    found: Verdicts = {}
    for snapshot in capture.snapshots:
        result = probe_all(capture, snapshot)
        for item in set(MEASURED) & set(result.covered()):
            rows = step(item, result, memories[item], snapshot)
            memories[item] = {subject: row.memory for subject, row in rows.items()}
            now = datetime.fromtimestamp(snapshot.moment.unix, UTC)
            found.update({(item, subject): judge(rules_of(item), row.value, now=now) for subject, row in rows.items()})
    return found


def rules_of(item: str) -> Item:
    return RULES.items[item]


@pytest.mark.parametrize("item", MEASURED)
def test_every_check_of_the_example_passes_and_only_one_numa_node_exempts(item: str) -> None:
    rows = {subject: one for (key, subject), one in verdicts(EXAMPLE).items() if key == item}

    expected = Verdict.NA if item == "numa-binding" else Verdict.PASS
    assert {subject: (one.verdict, one.detail) for subject, one in rows.items()} == {
        subject: (expected, one.detail) for subject, one in rows.items()
    }


BURN = {
    "gpu-present": Verdict.PASS,
    "gpu-ecc": Verdict.PASS,
    "gpu-pcie-width": Verdict.PASS,
    "gpu-pcie-generation": Verdict.PASS,
    "gpu-fabric": Verdict.PASS,
    "gpu-nvlink-links": Verdict.PASS,
    "gpu-nvlink-errors": Verdict.PASS,
    "gpu-xid": Verdict.UNKNOWN,
    "driver-cuda-match": Verdict.PASS,
    "gpu-temperature": Verdict.PASS,
    "gpu-clock-throttle": Verdict.PASS,
    "gpu-clean": Verdict.PASS,
    "sysctl-swappiness": Verdict.NA,
    "sysctl-somaxconn": Verdict.FAIL,
    "sysctl-syn-backlog": Verdict.FAIL,
    "sysctl-netdev-backlog": Verdict.FAIL,
    "sysctl-file-max": Verdict.PASS,
    "ulimit-nofile": Verdict.FAIL,
    "ulimit-memlock": Verdict.PASS,
    "clock-sync": Verdict.FAIL,
    "numa-binding": Verdict.NA,
    "cpu-governor": Verdict.NA,
    "mem-oom": Verdict.PASS,
    "checkpoint-mount": Verdict.UNKNOWN,
}
IDLE_AND_LOADED_35_SECONDS = {
    "gpu-present": Verdict.PASS,
    "gpu-ecc": Verdict.PASS,
    "gpu-pcie-width": Verdict.PASS,
    "gpu-nvlink-links": Verdict.PASS,
    "gpu-nvlink-errors": Verdict.UNKNOWN,
    "gpu-xid": Verdict.UNKNOWN,
    "gpu-temperature": Verdict.UNKNOWN,
    "gpu-clock-throttle": Verdict.UNKNOWN,
    "gpu-pcie-generation": Verdict.UNKNOWN,
    "gpu-clean": Verdict.UNKNOWN,
    "sysctl-netdev-backlog": Verdict.FAIL,
    "sysctl-swappiness": Verdict.FAIL,
    "sysctl-somaxconn": Verdict.FAIL,
    "sysctl-syn-backlog": Verdict.FAIL,
    "sysctl-file-max": Verdict.PASS,
    "ulimit-nofile": Verdict.FAIL,
    "ulimit-memlock": Verdict.PASS,
    "cpu-governor": Verdict.NA,
    "numa-binding": Verdict.NA,
    "clock-sync": Verdict.UNKNOWN,
}


@pytest.mark.parametrize(("item", "verdict"), BURN.items())
def test_the_h200_node_under_load_is_judged_as_those_who_took_it_say(item: str, verdict: Verdict) -> None:
    rows = verdicts(SHARED / "captures" / "h200x2-burn")

    assert {one.verdict for (key, _), one in rows.items() if key == item} == {verdict}


@pytest.mark.parametrize(("item", "verdict"), IDLE_AND_LOADED_35_SECONDS.items())
def test_the_h200_node_that_was_loaded_for_35_seconds_proves_no_more_than_that(item: str, verdict: Verdict) -> None:
    rows = verdicts(SHARED / "captures" / "h200x2")

    assert {one.verdict for (key, _), one in rows.items() if key == item} == {verdict}


def test_35_seconds_of_load_are_named() -> None:
    rows = verdicts(SHARED / "captures" / "h200x2")

    assert "35 s of 300" in rows["gpu-temperature", "gpu0"].detail
