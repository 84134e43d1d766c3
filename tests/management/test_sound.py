"""A sound node's daily and start facts pass; its tick is held to the checklist with the benchmarks' fleet."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from checks.domain.evaluation import judge
from checks.domain.facts import Fact
from checks.domain.measuring import measure_covered
from checks.domain.profiles import Ruleset
from checks.domain.shared_items import NodeWord, lossless_classes
from checks.domain.verdicts import Cadence
from checks.management.simulation.sound import NoFactsKnown, SoundNode, Troubles, Work, Writing
from checks.services.report_v1 import ReportV1
from tests.lab import our_catalogue

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
RULES = Ruleset.build(our_catalogue(), "8xh200", {})
NODE = SoundNode(RULES, "gpu001", "boot-1", Work.IDLE, program="test")
BESIDES = [(one, item) for one in (Cadence.DAILY, Cadence.START) for item in RULES.due(one) if item in RULES.of_nodes]


def written(cadence: Cadence, *items: str, troubles: Troubles = Troubles()) -> ReportV1:  # noqa: B008  (immutable)
    report = NODE.report(Writing(cadence, items, 0, boottime=86_400.0, wall=NOON), troubles)
    return msgspec.json.decode(msgspec.json.encode(report), type=ReportV1)


@pytest.mark.parametrize(("cadence", "item"), BESIDES)
def test_every_daily_and_start_item_passes(cadence: Cadence, item: str) -> None:
    facts = [Fact(one.item, one.subject, one.name, one.value, one.unit, NOON) for one in written(cadence, item).facts]
    measured = measure_covered(RULES, item, facts, [], {}, observed_at=NOON, boot_id="boot-1")

    assert {judge(RULES.items[item], one.value, now=NOON).verdict for one in measured.values()} == {"pass"}


def test_sound_nodes_agree_about_their_lossless_class() -> None:
    said: dict[str, dict[str, Any]] = {}
    for one in written(Cadence.DAILY, "net-switch-qos").facts:
        said.setdefault(one.subject, {})[one.name] = one.value
    derived = lossless_classes([NodeWord("gpu001", said), NodeWord("gpu002", said)], switches_stated=True)

    assert derived.facts == {
        "link_layer": "Ethernet", "nics_differing": 0, "traffic_class_mapped": True, "switch_matches": True,
    }  # fmt: skip


def test_a_hung_tool_gives_a_problem_and_no_fact() -> None:
    report = written(Cadence.TICK, "gpu-ecc", "mem-oom", troubles=Troubles(hung=frozenset({"gpu-ecc"})))

    assert [(one.item, one.kind) for one in report.problems] == [("gpu-ecc", "hung")]
    assert {one.item for one in report.facts} == {"mem-oom"}
    assert report.covered == ["gpu-ecc", "mem-oom"]


def test_an_item_nobody_wrote_facts_for_is_refused_and_never_made_up() -> None:
    with pytest.raises(NoFactsKnown, match="brand-new"):
        written(Cadence.TICK, "mem-oom", "brand-new")
