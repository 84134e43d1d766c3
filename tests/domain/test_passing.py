"""The short way to *pass* never says more than the judge."""

from datetime import timedelta
from itertools import islice

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fleet import PROFILES, FleetNode, Work, body_of
from checks.domain.catalogue import load_catalogue
from checks.domain.evaluation import PASSED, judge
from checks.domain.facts import Fact
from checks.domain.measuring import measure_covered
from checks.domain.memory import ItemMemory
from checks.domain.passing import passing
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence
from checks.services.report_v1 import ReportV1
from tests.domain.building import NOON, item_of, measured
from tests.domain.conftest import CATALOGUE
from tests.domain.test_properties import REPORTS, Reports, follow

RULES = {profile: Ruleset.build(load_catalogue(CATALOGUE), profile, {}) for profile in PROFILES}


@given(REPORTS, st.integers(0, 8))
def test_whatever_passes_the_short_way_passes_the_judge(reports: Reports, days: int) -> None:
    item, rounds = reports
    value, now = follow(item, rounds, []), NOON + timedelta(days=days)

    assert not passing(item)(value, now) or judge(item, value, now=now) == PASSED


@pytest.mark.parametrize(
    ("profile", "item"),
    [(profile, item) for profile, rules in RULES.items() for item in rules.due(Cadence.TICK) if item in rules.of_nodes],
)
def test_the_short_way_finds_every_pass_of_a_node_at_work(profile: str, item: str) -> None:
    rules, memory = RULES[profile], dict[str, ItemMemory]()
    for number, report in enumerate(islice(FleetNode(rules, "gpu001", "boot-1").reports(Work.BUSY, first=1), 4)):
        at = NOON + timedelta(seconds=300 * number)
        sent = msgspec.json.decode(body_of(report), type=ReportV1).facts
        facts = [Fact(one.item, one.subject, one.name, one.value, one.unit, at) for one in sent if one.item == item]
        found = measure_covered(rules, item, facts, [], memory, observed_at=at, boot_id="boot-1")
        memory = {subject: one.memory for subject, one in found.items()}

    assert {rules.passing[item](one.value, at) for one in found.values()} == {True}
    assert {judge(rules.items[item], one.value, now=at) for one in found.values()} == {PASSED}


def test_an_item_without_a_threshold_never_passes() -> None:
    item = item_of(criteria=[{"fact": "live", "operator": "ge", "threshold_from": "pcie_width"}])
    unstated = Ruleset.build(load_catalogue(CATALOGUE), "no-gpu", {})

    assert not passing(item)(measured(item, live=9).value, NOON)
    assert all(not unstated.passing[key]({"facts": {}}, NOON) for key in unstated.items)


def test_a_number_of_another_kind_is_left_to_the_judge() -> None:
    item = item_of(criteria=[{"fact": "live", "operator": "eq", "threshold": 1}])

    assert passing(item)({"facts": {"live": 1}}, NOON)
    assert not passing(item)({"facts": {"live": True}}, NOON)
