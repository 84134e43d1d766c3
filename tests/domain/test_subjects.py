"""Which subjects a report speaks of."""

import pytest

from checks.domain.evaluation import judge
from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.measuring import Measured, measure_covered
from checks.domain.memory import ItemMemory
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Reason, Verdict
from tests.domain.building import NOON, facts_of


def covered(
    rules: Ruleset, item: str, facts: list[Fact], problems: list[Problem], memories: dict[str, ItemMemory] | None = None
) -> dict[str, Measured]:
    return measure_covered(rules, item, facts, problems, memories or {}, observed_at=NOON, boot_id="b")


def width(rules: Ruleset, *subjects: str) -> list[Fact]:
    item = rules.items["gpu-pcie-width"]
    return [fact for name in subjects for fact in facts_of(item, {"width": 16, "width_max": 16}, subject=name)]


def verdicts(rules: Ruleset, found: dict[str, Measured], item: str = "gpu-pcie-width") -> dict[str, tuple[str, str]]:
    judged = {name: judge(rules.items[item], one.value, now=NOON) for name, one in found.items()}
    return {name: (one.verdict.value, one.reason or "") for name, one in judged.items()}


def test_too_few_gpus_leave_the_rest_missing(h100x8: Ruleset) -> None:
    told = verdicts(h100x8, covered(h100x8, "gpu-pcie-width", width(h100x8, *(f"gpu{n}" for n in range(6))), []))

    assert told["gpu5"] == ("pass", "")
    assert told["gpu6"] == told["gpu7"] == ("unknown", "missing")


def test_no_gpu_at_all_is_not_measured_everywhere(h200x2: Ruleset) -> None:
    told = verdicts(h200x2, covered(h200x2, "gpu-pcie-width", [], []))

    assert told == {"gpu0": ("unknown", "not_measured"), "gpu1": ("unknown", "not_measured")}


def test_one_more_gpu_than_expected_is_judged_too(h200x2: Ruleset) -> None:
    assert set(covered(h200x2, "gpu-pcie-width", width(h200x2, "gpu0", "gpu1", "gpu2"), [])) == {"gpu0", "gpu1", "gpu2"}


def test_a_subject_that_is_remembered_and_no_longer_seen_is_missing(h200x2: Ruleset) -> None:
    found = covered(h200x2, "gpu-pcie-width", width(h200x2, "gpu0", "gpu1"), [], {"gpu2": ItemMemory()})

    assert found["gpu2"].problem is Reason.MISSING


@pytest.mark.parametrize("subject", [None, "*", ""])
def test_a_problem_of_the_node_is_one_of_each_subject(h200x2: Ruleset, subject: str | None) -> None:
    hung = Problem("gpu-pcie-width", subject, ProblemKind.HUNG)

    told = verdicts(h200x2, covered(h200x2, "gpu-pcie-width", [], [hung]))

    assert told == {"gpu0": ("unknown", "hung"), "gpu1": ("unknown", "hung")}


def test_a_problem_of_one_gpu_leaves_the_other_alone(h200x2: Ruleset) -> None:
    lost = Problem("gpu-pcie-width", "gpu1", ProblemKind.UNREADABLE)

    told = verdicts(h200x2, covered(h200x2, "gpu-pcie-width", width(h200x2, "gpu0"), [lost]))

    assert told == {"gpu0": ("pass", ""), "gpu1": ("unknown", "unreadable")}


def test_a_fact_of_the_node_holds_for_each_of_its_gpus(h200x2: Ruleset) -> None:
    one_node = facts_of(h200x2.items["numa-binding"], {"numa_nodes": 1})

    told = verdicts(h200x2, covered(h200x2, "numa-binding", one_node, []), "numa-binding")

    assert told == {"gpu0": ("na", ""), "gpu1": ("na", "")}


def test_an_item_of_the_node_has_one_subject(h200x2: Ruleset) -> None:
    facts = facts_of(h200x2.items["sysctl-somaxconn"], {"live": 65535})

    assert set(covered(h200x2, "sysctl-somaxconn", facts, [])) == {""}
    assert Verdict.PASS not in verdicts(h200x2, covered(h200x2, "sysctl-somaxconn", [], []), "sysctl-somaxconn")[""]
