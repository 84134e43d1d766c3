"""Items that are proved under load only, over several reports, and the memory that carries them."""

from datetime import timedelta
from typing import Any

import pytest

from checks.models import NodeMemory
from tests.factories import NOON, Machine, enrolled_machine, healthy_facts, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster())


def loaded_facts() -> dict[str, Any]:
    """A node whose GPUs are busy and well."""
    facts = healthy_facts()
    for item in ("gpu-temperature", "gpu-clock-throttle", "gpu-pcie-generation"):
        for gpu in facts[item].values():
            gpu["utilization"] = (98, "percent")
    for gpu in facts["gpu-pcie-generation"].values():
        gpu["generation"] = (5, "count")
    return facts


def test_an_idle_node_is_unproved_which_stops_a_start_and_not_its_health(machine: Machine) -> None:
    machine.push()
    row = machine.state("gpu-clock-throttle", "gpu0")

    assert (row.raw, row.reason, row.blocks) == ("unknown", "not_loaded", 1)


def test_time_under_load_counts_from_the_idle_sample_before(machine: Machine) -> None:
    machine.push()
    machine.sleep(timedelta(seconds=35))
    machine.push(facts=loaded_facts())

    assert machine.state("gpu-clock-throttle", "gpu0").detail == "loaded 35 s of 300"


def test_idle_samples_that_are_not_written_still_move_the_clock(machine: Machine) -> None:
    for _ in range(3):
        machine.push()
        machine.sleep()
    written = NodeMemory.objects.get(node=machine.node, item="gpu-pcie-generation", subject="gpu0").state["at"]
    machine.push()
    machine.sleep(timedelta(seconds=35))
    machine.push(facts=loaded_facts())

    assert written == NOON.timestamp()
    assert machine.state("gpu-pcie-generation", "gpu0").detail == "loaded 35 s of 300"


def test_five_minutes_under_load_are_a_proof_for_seven_days(machine: Machine) -> None:
    machine.push()
    for _ in range(3):
        machine.sleep(timedelta(seconds=150))
        machine.push(facts=loaded_facts())
    row = machine.state("gpu-clock-throttle", "gpu0")

    assert row.raw == "pass"
    assert row.loaded_until == machine.now + timedelta(days=7)


def test_a_proof_outlives_idle_hours(machine: Machine) -> None:
    machine.push()
    for _ in range(3):
        machine.sleep(timedelta(seconds=150))
        machine.push(facts=loaded_facts())
    for _ in range(3):
        machine.sleep(timedelta(hours=1))
        machine.push()

    assert machine.state("gpu-pcie-generation", "gpu0").raw == "pass"


def test_a_proof_that_has_grown_too_old_counts_no_more(machine: Machine) -> None:
    machine.push()
    for _ in range(3):
        machine.sleep(timedelta(seconds=150))
        machine.push(facts=loaded_facts())
    machine.sleep(timedelta(days=7, minutes=10))
    machine.push()

    assert machine.state("gpu-pcie-generation", "gpu0").reason == "not_loaded"


def test_a_counter_that_gained_fails_and_a_reset_is_no_gain(machine: Machine) -> None:
    facts = healthy_facts()
    verdicts = []
    for dropped in (100, 100, 107, 3):
        facts["sysctl-netdev-backlog"][""]["softnet_dropped"] = (dropped, "packets")
        machine.push(facts=facts)
        verdicts.append(machine.state("sysctl-netdev-backlog").raw)
        machine.sleep()

    # Seen once: unknown. Then +0, +7, and a reset after which 3 are known to have come.
    assert verdicts == ["unknown", "pass", "fail", "fail"]
