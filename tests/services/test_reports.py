"""What one report does to a node's rows, history and summary."""

from datetime import timedelta

import pytest

from checks.models import Flip, Gap, NodeItemState, Outbox, Report
from tests.factories import NOON, Machine, enrolled_machine, healthy_facts, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster())


def test_a_node_starts_with_every_expected_item_never_measured(machine: Machine) -> None:
    rows = NodeItemState.objects.filter(node=machine.node, item="gpu-ecc")

    assert {(row.subject, row.raw, row.reason, row.blocks) for row in rows} == {
        (f"gpu{place}", "unknown", "never_measured", 2) for place in range(8)
    }


def test_an_item_that_the_profile_excuses_is_na_from_enrolment_on() -> None:
    machine = enrolled_machine(make_cluster(profile="no-gpu"))

    assert machine.state("gpu-ecc").raw == "na"


def test_a_full_report_moves_the_stamp_of_its_cadence(machine: Machine) -> None:
    machine.push()

    assert machine.readiness.tick_at == NOON
    assert machine.readiness.tick_until == NOON + timedelta(minutes=15)
    assert machine.readiness.daily_at is None


def test_the_stamp_is_as_old_as_the_oldest_fact(machine: Machine) -> None:
    report = machine.report()
    report["facts"][0]["observed_at"] -= 20
    machine.push(report)

    assert machine.readiness.tick_at == NOON - timedelta(seconds=20)


def test_an_old_fact_of_an_unknown_item_makes_no_node_stale(machine: Machine) -> None:
    report = machine.report(healthy_facts() | {"gpu-moon-phase": {"": {"phase": (0.5, "ratio")}}})
    report["facts"][-1]["observed_at"] = 0
    machine.push(report)

    assert report["facts"][-1]["item"] == "gpu-moon-phase"
    assert machine.readiness.tick_at == NOON


def test_a_short_report_leaves_the_stamp_and_says_what_was_not_reported(machine: Machine) -> None:
    machine.push()
    machine.sleep()
    machine.push(
        {**machine.report(), "covered": [one for one in healthy_facts() if one != "gpu-present"]}
        | {"facts": [fact for fact in machine.report()["facts"] if fact["item"] != "gpu-present"]}
    )

    assert machine.readiness.tick_at == NOON
    assert (machine.state("gpu-present").raw, machine.state("gpu-present").reason) == ("unknown", "not_reported")


def test_a_full_report_that_repeats_the_last_one_writes_no_row_of_its_cadence(machine: Machine) -> None:
    for _ in range(4):
        machine.push()
        machine.sleep()
    before = machine.state("gpu-ecc", "gpu3")
    machine.push()

    assert machine.state("gpu-ecc", "gpu3").observed_at == before.observed_at
    assert machine.readiness.tick_at == machine.now


def test_a_changed_value_is_written_even_when_its_verdict_is_the_same(machine: Machine) -> None:
    machine.push()
    machine.sleep()
    facts = healthy_facts()
    facts["mem-oom"][""]["memory_total"] = (2063000, "MiB")
    machine.push(facts=facts)

    assert machine.state("mem-oom").value["facts"]["memory_total"] == 2063000


def test_a_covered_item_without_fact_or_problem_is_unknown(machine: Machine) -> None:
    facts = healthy_facts()
    del facts["hung-io"]
    machine.push(facts=facts, covered=list(healthy_facts()))

    assert (machine.state("hung-io").raw, machine.state("hung-io").blocks) == ("unknown", 2)
    assert machine.readiness.tick_at == NOON


def test_a_problem_makes_every_subject_it_names_unknown(machine: Machine) -> None:
    facts = healthy_facts()
    del facts["gpu-ecc"]
    machine.push(facts=facts, covered=list(healthy_facts()), problems=[("gpu-ecc", None, "hung", "nvidia-smi hung")])

    rows = NodeItemState.objects.filter(node=machine.node, item="gpu-ecc")
    assert {(row.raw, row.reason) for row in rows} == {("unknown", "hung")}


def test_a_failed_criterion_blocks_health_at_once_and_leaves_a_flip(machine: Machine) -> None:
    machine.push()
    machine.sleep()
    facts = healthy_facts()
    facts["gpu-pcie-width"]["gpu5"]["width"] = (8, "lanes")
    machine.push(facts=facts)

    assert (machine.state("gpu-pcie-width", "gpu5").raw, machine.state("gpu-pcie-width", "gpu5").blocks) == ("fail", 2)
    assert machine.readiness.health_failed == 1
    flip = Flip.objects.get(item="gpu-pcie-width", subject="gpu5", raw="fail")
    assert (flip.raw_before, flip.cause, flip.at, flip.cluster_id) == (
        "pass",
        "report",
        machine.now,
        machine.cluster.pk,
    )


def test_a_new_failure_asks_the_worker_to_look_at_the_breaker(machine: Machine) -> None:
    machine.push()
    Outbox.objects.all().delete()
    machine.sleep()
    facts = healthy_facts()
    facts["hung-io"][""]["longest_wait"] = (90.0, "seconds")
    machine.push(facts=facts)

    assert list(Outbox.objects.values_list("task", "args")) == [("checks.watch_breakers", [])]


def test_a_change_settles_after_three_counted_reports_and_raises_the_epoch(machine: Machine) -> None:
    for _ in range(3):
        machine.push()
        machine.sleep()
    facts = healthy_facts()
    facts["hung-io"][""]["longest_wait"] = (90.0, "seconds")
    settled = []
    for _ in range(3):
        machine.push(facts=facts)
        settled.append((machine.state("hung-io").settled, machine.state("hung-io").epoch))
        machine.sleep()

    assert settled == [("pass", 0), ("pass", 0), ("fail", 1)]


def test_reports_closer_than_the_settle_gap_count_once(machine: Machine) -> None:
    for _ in range(4):
        machine.push()
        machine.sleep(timedelta(seconds=20))

    assert machine.state("hung-io").settled == ""


def test_the_digest_of_a_layer_changes_with_what_is_settled_and_with_nothing_else(machine: Machine) -> None:
    for _ in range(4):
        machine.push()
        machine.sleep()
    settled = machine.readiness.digests
    facts = healthy_facts()
    facts["mem-oom"][""]["memory_total"] = (2063000, "MiB")
    machine.push(facts=facts)
    same = machine.readiness.digests
    facts["gpu-ecc"]["gpu0"]["volatile_uncorrectable"] = (1, "count")
    machine.sleep()
    machine.push(facts=facts)

    assert same == settled
    assert machine.readiness.digests["physical"] != settled["physical"]
    assert machine.readiness.digests["system"] == settled["system"]


def test_a_daily_identity_value_that_changes_raises_the_epoch_at_once(machine: Machine) -> None:
    machine.push(cadence="daily")
    machine.sleep(timedelta(days=1))
    facts = healthy_facts(cadence="daily")
    facts["gpu-firmware"]["gpu0"]["vbios"] = ("96.00.A5.00.99", "text")
    machine.push(facts=facts, cadence="daily")

    assert machine.state("gpu-firmware", "gpu0").epoch == machine.state("gpu-firmware", "gpu1").epoch + 1


def test_a_check_of_one_item_keeps_no_other_item_alive(machine: Machine) -> None:
    machine.push()
    machine.sleep()
    machine.push(facts={"hung-io": healthy_facts()["hung-io"]}, cadence="check")

    assert machine.readiness.tick_at == NOON
    assert machine.state("hung-io").observed_at == machine.now
    assert machine.state("mem-oom").observed_at == NOON


def test_an_older_report_fills_history_only(machine: Machine) -> None:
    old_facts = healthy_facts()
    old_facts["hung-io"][""]["longest_wait"] = (90.0, "seconds")
    old = machine.report(facts=old_facts)
    machine.sleep()
    machine.push()
    machine.push(old, age_s=300)

    assert machine.state("hung-io").raw == "pass"
    assert machine.readiness.tick_at == machine.now
    assert Report.objects.filter(node=machine.node).count() == 2


def test_a_fact_of_an_unknown_item_is_kept_and_named(machine: Machine) -> None:
    facts = healthy_facts() | {"gpu-moon-phase": {"": {"phase": (0.5, "ratio")}}}
    receipt = machine.push(facts=facts)

    assert receipt.observed == ["gpu-moon-phase"]
    assert Report.objects.get(node=machine.node).body["facts"]["gpu-moon-phase"] == {"": {"phase": [0.5, "ratio"]}}


@pytest.mark.parametrize("subject", ["../../etc", "gpu100", "gpu00", "gpu\u0663", "GPU0", "gpu0\n", "*"])
def test_a_subject_that_cannot_be_makes_no_row(machine: Machine, subject: str) -> None:
    facts = healthy_facts()
    facts["gpu-ecc"][subject] = facts["gpu-ecc"]["gpu0"]
    receipt = machine.push(facts=facts)

    assert receipt.observed == [f"gpu-ecc:{subject}"]
    assert not NodeItemState.objects.filter(node=machine.node, subject=subject).exists()


@pytest.mark.parametrize("value", [10**309, -(10**4000), 1e308])
def test_a_number_beyond_all_measure_is_stored_and_passes_nothing(machine: Machine, value: float) -> None:
    facts = healthy_facts()
    facts["gpu-temperature"]["gpu0"]["temperature"] = (value, "celsius")
    machine.push(facts=facts)

    assert machine.state("gpu-temperature", "gpu0").raw != "pass"


def test_fewer_gpus_than_the_profile_has_are_missing_and_not_forgotten(machine: Machine) -> None:
    machine.push()
    machine.sleep()
    machine.push(
        facts=healthy_facts(gpus=7) | {"gpu-present": {"": {"gpus_visible": (7, "count"), "gpus_lost": (0, "count")}}}
    )

    assert (machine.state("gpu-ecc", "gpu7").raw, machine.state("gpu-ecc", "gpu7").reason) == ("unknown", "missing")
    assert machine.state("gpu-present").raw == "fail"


def test_the_next_full_report_closes_an_open_gap(machine: Machine) -> None:
    gap = Gap.objects.create(node=machine.node, cadence="tick", started_at=NOON - timedelta(hours=1))
    machine.push()

    gap.refresh_from_db()
    assert gap.ended_at == NOON


def test_lost_reports_are_added_up(machine: Machine) -> None:
    machine.push(lost={"spool": 3, "bad": 1})
    machine.sleep()
    machine.push(lost={"spool": 2, "bad": 0})

    assert machine.readiness.lost_reports == 6


def test_evidence_is_stored_once_and_named_by_the_rows_it_supports(machine: Machine) -> None:
    text = "Mem: 2063840 total"
    evidence = [{"probe": "memory", "text": text, "truncated": False, "sha256": "0" * 64, "items": ["mem-oom"]}]
    machine.push(evidence=evidence)

    # printf 'Mem: 2063840 total' | sha256sum
    assert machine.state("mem-oom").evidence == "62b8db1fbd90e6c8c469b10d4af2fd3c6f2c9745580d4d89b859a5fb3ee022e8"
    assert machine.state("hung-io").evidence == ""
