"""What a report says about one item: the whole way from facts to a verdict."""

from dataclasses import replace

import pytest

from checks.domain.evaluation import judge
from checks.domain.facts import Fact, ProblemKind
from checks.domain.measuring import measure, unmeasured
from checks.domain.memory import ItemMemory
from checks.domain.profiles import Ruleset
from checks.domain.units import Scalar
from checks.domain.verdicts import Reason, Verdict
from tests.domain.building import NOON, Subject, facts_of, item_of, judged, measured, problem

SAME = [{"fact": "live", "operator": "ge", "threshold": 5}]


def test_a_value_that_meets_its_criterion_passes() -> None:
    assert judged(item_of(), live=5).verdict is Verdict.PASS


def test_a_value_that_misses_fails_and_says_what_it_needs() -> None:
    judgement = judged(item_of(), live=4)

    assert (judgement.verdict, judgement.reason) == (Verdict.FAIL, Reason.CRITERION)
    assert judgement.detail == "live 4, needs ≥ 5"
    assert judgement.missed == (0,)


def test_a_row_that_was_never_measured_is_unknown() -> None:
    assert judge(item_of(), {}, now=NOON).reason is Reason.NEVER_MEASURED
    assert judge(item_of(), unmeasured(Reason.NOT_REPORTED), now=NOON).reason is Reason.NOT_REPORTED


def test_a_covered_item_without_a_fact_or_a_problem_is_unknown() -> None:
    judgement = judged(item_of())

    assert (judgement.verdict, judgement.reason) == (Verdict.UNKNOWN, Reason.NOT_MEASURED)


@pytest.mark.parametrize("kind", ProblemKind)
def test_a_problem_is_unknown_with_its_own_reason(kind: ProblemKind) -> None:
    item = item_of()

    found = measure(item, [], [problem(item, kind)], ItemMemory(), observed_at=NOON, boot_id="b")

    judgement = judge(item, found.value, now=NOON)
    assert (judgement.verdict, judgement.reason) == (Verdict.UNKNOWN, Reason(kind.value))
    assert judgement.detail == "no answer in 10 s"


def test_a_problem_beside_good_facts_never_passes() -> None:
    item = item_of()

    found = measure(item, facts_of(item, {"live": 9}), [problem(item)], ItemMemory(), observed_at=NOON, boot_id="b")

    assert judge(item, found.value, now=NOON).reason is Reason.HUNG


def test_a_problem_never_hides_a_failure() -> None:
    item = item_of()

    found = measure(item, facts_of(item, {"live": 1}), [problem(item)], ItemMemory(), observed_at=NOON, boot_id="b")

    assert judge(item, found.value, now=NOON).verdict is Verdict.FAIL


@pytest.mark.parametrize(("value", "unit"), [(9, "KiB"), ("nine", "count"), (True, "count"), (9, "Gb")])
def test_a_value_in_another_unit_is_unknown_and_never_a_failure(value: object, unit: str) -> None:
    item = item_of()
    fact = Fact(item.key, "", "live", value, unit, NOON)  # type: ignore[arg-type]

    found = measure(item, [fact], [], ItemMemory(), observed_at=NOON, boot_id="b")

    assert judge(item, found.value, now=NOON).reason is Reason.UNIT_MISMATCH


def test_unlimited_is_more_than_any_number() -> None:
    assert judged(item_of(), live="unlimited").verdict is Verdict.PASS


def test_missing_only_the_milder_criterion_warns() -> None:
    item = item_of(warn_criteria=[{"fact": "live", "operator": "ge", "threshold": 10}])

    assert judged(item, live=7).verdict is Verdict.WARN
    assert judged(item, live=7).missed == (1,)
    assert judged(item, live=4).verdict is Verdict.FAIL


def test_a_failure_outweighs_what_is_unknown() -> None:
    item = item_of(facts={"live": "count", "other": "count"}, criteria=[*SAME, SAME[0] | {"fact": "other"}])

    assert judged(item, live=1).verdict is Verdict.FAIL
    assert judged(item, live=9).verdict is Verdict.UNKNOWN


def test_an_item_without_a_threshold_is_unknown() -> None:
    item = replace(item_of(), criteria=())

    assert judged(item, live=9).reason is Reason.NO_THRESHOLD


def test_a_measured_fact_excuses_an_item_and_an_unmeasured_one_does_not() -> None:
    excuse = {"fact": "devices", "operator": "eq", "threshold": 0}
    item = item_of(facts={"live": "count", "devices": "count"}, exempt=[excuse])

    assert judged(item, devices=0).verdict is Verdict.NA
    assert judged(item, live=1).verdict is Verdict.FAIL
    assert judged(item).verdict is Verdict.UNKNOWN


def test_a_gpu_under_a_job_is_not_judged(h200x2: Ruleset) -> None:
    clean: dict[str, Scalar] = {
        "foreign_processes": 0, "memory_used": 4, "mig_enabled": False, "compute_mode": "Default",
    }  # fmt: skip
    item = h200x2.items["gpu-clean"]

    assert judged(item, job_processes=0, **clean).verdict is Verdict.PASS
    assert judged(item, job_processes=1, **clean | {"memory_used": 1002}).reason is Reason.NOT_JUDGED


def test_a_criterion_that_is_new_waits_for_its_first_measurement() -> None:
    value = measured(item_of(), live=9).value
    newer = item_of(facts={"live": "count", "other": "count"}, criteria=[*SAME, SAME[0] | {"fact": "other"}])

    assert judge(newer, value, now=NOON).reason is Reason.NOT_MEASURED_UNDER_VERSION


def test_judging_again_under_another_threshold_needs_no_facts() -> None:
    value = measured(item_of(), live=7).value
    stricter = item_of(criteria=[{"fact": "live", "operator": "ge", "threshold": 8}])

    assert judge(stricter, value, now=NOON).verdict is Verdict.FAIL


def test_the_node_of_the_captures_is_judged_as_its_readme_says(h200x2: Ruleset) -> None:
    def verdict(item: str, **values: Scalar) -> str:
        return judged(h200x2.items[item], **values).verdict

    assert verdict("sysctl-netdev-backlog", live=1000, softnet_dropped=0) == "fail"
    assert verdict("sysctl-swappiness", live=60) == "fail"
    assert verdict("sysctl-swappiness", live=60, swap_devices=0) == "na"
    assert verdict("sysctl-somaxconn", live=4096) == "fail"
    assert verdict("sysctl-syn-backlog", live=4096) == "fail"
    assert verdict("sysctl-file-max", live=26396503) == "pass"
    assert verdict("ulimit-nofile", soft=20000, hard=20000, context="job") == "fail"
    assert verdict("ulimit-memlock", soft="unlimited", hard="unlimited", context="job") == "pass"
    assert verdict("cpu-governor", cpufreq="absent", cpus=32) == "na"
    assert verdict("numa-binding", numa_nodes=1) == "na"
    assert verdict("gpu-present", gpus_visible=2, gpus_lost=0) == "pass"
    assert verdict("gpu-pcie-width", width=16, width_max=16) == "pass"
    assert verdict("clock-sync", synchronized=False, offset=0.0, source="tsc") == "fail"


def test_a_governor_that_bare_metal_hides_is_unknown(h100x8: Ruleset) -> None:
    assert judged(h100x8.items["cpu-governor"], cpufreq="absent", cpus=192).verdict is Verdict.UNKNOWN


def test_the_spread_of_shards_is_held_against_their_mean() -> None:
    facts = {"tokens_min": "count", "tokens_max": "count", "tokens_mean": "count"}
    item = item_of(facts=facts, criteria=[{"fact": "tokens", "operator": "balanced", "threshold": 0.005}])

    assert judged(item, tokens_min=998, tokens_max=1002, tokens_mean=1000).verdict is Verdict.PASS
    assert judged(item, tokens_min=880, tokens_max=1002, tokens_mean=1000).verdict is Verdict.FAIL
    assert judged(item, tokens_min=0, tokens_max=0, tokens_mean=0).verdict is Verdict.UNKNOWN


def test_a_later_report_stands_on_its_own_facts() -> None:
    row = Subject(item_of())

    assert row.report(0, live=1).verdict is Verdict.FAIL
    assert row.report(300, live=9).verdict is Verdict.PASS


ENOUGH = [
    {"fact": "live", "operator": "ge", "threshold": 5},
    {"fact": "duration", "operator": "ge", "threshold": 1200, "amount": True},
]


def test_a_measurement_that_was_cut_short_is_unknown_and_says_how_much_is_lacking() -> None:
    item = item_of(facts={"live": "count", "duration": "seconds"}, criteria=ENOUGH)
    judgement = judged(item, live=9, duration=300)

    assert (judgement.verdict, judgement.reason) == (Verdict.UNKNOWN, Reason.NOT_JUDGED)
    assert judgement.detail == "too short: 5 of 20 min"
    assert judged(item, live=9, duration=1200).verdict is Verdict.PASS


def test_what_failed_within_a_short_time_has_failed() -> None:
    item = item_of(facts={"live": "count", "duration": "seconds"}, criteria=ENOUGH)

    assert judged(item, live=4, duration=300).verdict is Verdict.FAIL
