"""The fleet that the benchmarks send: it must stay a healthy one, whatever the checklist learns to ask."""

from datetime import UTC, datetime
from itertools import islice

import msgspec
import pytest

from benchmarks.fleet import PROFILES, FleetNode, Work, body_of, results_in
from checks.domain.evaluation import Judgement, judge
from checks.domain.facts import Fact
from checks.domain.measuring import measure_covered
from checks.domain.memory import ItemMemory
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence, Reason
from checks.services.report_v1 import ReportV1
from tests.lab import our_catalogue

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def rules_of(profile: str) -> Ruleset:
    return Ruleset.build(our_catalogue(), profile, {})


def reports(profile: str, work: Work, count: int) -> list[ReportV1]:
    node = FleetNode(rules_of(profile), "gpu001", "boot-1")
    said = islice(node.reports(work, first=0), count)
    return [msgspec.json.decode(body_of(report), type=ReportV1) for report in said]


def verdicts(profile: str, item: str, said: list[ReportV1]) -> dict[str, Judgement]:
    """What the judge makes of one item after all that was *said*, by subject."""
    rules, memory, found = rules_of(profile), dict[str, ItemMemory](), dict[str, Judgement]()
    for report in said:
        at = datetime.fromtimestamp(NOON.timestamp() + report.clock.boottime, UTC)
        facts = [
            Fact(one.item, one.subject, one.name, one.value, one.unit, at)
            for one in report.facts
            if one.item == item
        ]  # fmt: skip
        measured = measure_covered(rules, item, facts, [], memory, observed_at=at, boot_id="boot-1")
        memory = {subject: one.memory for subject, one in measured.items()}
        found = {subject: judge(rules.items[item], one.value, now=at) for subject, one in measured.items()}
    return found


@pytest.mark.parametrize(
    ("profile", "item"), [(profile, item) for profile in PROFILES for item in rules_of(profile).due(Cadence.TICK)]
)
def test_every_item_of_a_tick_passes_or_waits_for_load_alone(profile: str, item: str) -> None:
    found = verdicts(profile, item, reports(profile, Work.BUSY, 3))

    assert {one.detail for one in found.values() if one.verdict != "pass" and one.reason != Reason.NOT_LOADED} == set()


@pytest.mark.parametrize(("profile", "results"), [("2xh200-virtual", 32), ("8xh200", 97)])
def test_a_report_has_a_result_for_each_gpu_and_card(profile: str, results: int) -> None:
    assert results_in(rules_of(profile)) == results


def test_a_report_covers_all_that_is_due() -> None:
    (report,) = reports("8xh200", Work.IDLE, 1)

    assert tuple(report.covered) == rules_of("8xh200").due(Cadence.TICK)


def test_one_report_in_twenty_five_slips() -> None:
    live = [
        next(one.value for one in report.facts if (one.item, one.name) == ("sysctl-somaxconn", "live"))
        for report in reports("2xh200-virtual", Work.IDLE, 25)
    ]

    assert (live[23], live[24]) == (65535, 128)


def test_on_an_idle_node_nothing_moves_but_temperatures() -> None:
    first, second = (
        {(f.item, f.subject, f.name): f.value for f in one.facts} for one in reports("8xh200", Work.IDLE, 2)
    )

    assert {item for item, *_ in (said for said in first if first[said] != second[said])} == {"gpu-temperature"}
