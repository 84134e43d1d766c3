"""Whether the machine behind a report is the one that was enrolled, and still the only one."""

from datetime import timedelta

import pytest

from checks.models import NodeMemory
from checks.services.hardware import check_serials
from tests.factories import NOON, Machine, enrolled_machine, healthy_facts, make_cluster


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster())


def test_a_slot_that_was_not_read_is_no_change() -> None:
    assert check_serials({"system": "S", "gpu0": "A"}, {"gpu0": "A"}).changed == {}


def test_another_value_in_a_slot_is_a_change() -> None:
    assert check_serials({"system": "S"}, {"system": "T"}).changed == {"system": "T"}


def test_a_slot_seen_first_is_learned() -> None:
    assert check_serials({"gpu0": "A"}, {"gpu0": "A", "system": "S"}).known == {"gpu0": "A", "system": "S"}


def test_ever_new_slots_do_not_make_a_node_grow_without_end() -> None:
    known = {f"slot{number}": "S" for number in range(256)}

    assert check_serials(known, {"one-more": "S"}).known == known


def test_gpus_that_move_up_behind_a_lost_one_keep_their_subjects() -> None:
    check = check_serials({"gpu0": "A", "gpu1": "B", "gpu2": "C"}, {"gpu0": "A", "gpu1": "C"})

    assert (check.changed, check.subjects) == ({}, {"gpu1": "gpu2"})


@pytest.mark.django_db
def test_a_lost_gpu_is_missing_under_its_own_name(machine: Machine) -> None:
    machine.push()
    machine.sleep()
    left = [place for place in range(8) if place != 3]
    serials = {f"gpu{new}": f"GPU-{old:04}" for new, old in enumerate(left)}
    facts = healthy_facts(gpus=7)
    facts["gpu-pcie-width"]["gpu3"]["width"] = (8, "lanes")  # now the fourth visible one: gpu4 of before
    machine.push(facts=facts, node={"hostname": "gpu001", "boot_id": "boot-1", "serials": serials})

    assert machine.node.trouble == ""
    assert machine.state("gpu-ecc", "gpu3").reason == "missing"
    assert machine.state("gpu-pcie-width", "gpu4").raw == "fail"


@pytest.mark.django_db
def test_another_system_serial_makes_the_node_doubtful_until_a_person_confirms(machine: Machine) -> None:
    machine.serials["system"] = "SYS-2"
    receipt = machine.push()
    machine.serials["system"] = "SYS-1"
    machine.sleep()
    machine.push()

    assert receipt.trouble == "hardware_changed"
    assert (machine.node.trouble, machine.node.unconfirmed_serials) == ("hardware_changed", {"system": "SYS-2"})
    assert machine.node.serials["system"] == "SYS-1"


@pytest.mark.django_db
def test_what_was_remembered_of_a_replaced_gpu_is_dropped(machine: Machine) -> None:
    facts = healthy_facts()
    for gpu in facts["gpu-clock-throttle"].values():
        gpu["hw_thermal"] = (900, "microseconds")
    machine.push(facts=facts)
    machine.sleep()
    machine.serials["gpu5"] = "GPU-NEW"
    facts["gpu-clock-throttle"]["gpu5"]["hw_thermal"] = (950, "microseconds")
    machine.push(facts=facts)

    # 50 more than the old card had would be a gain; on a card seen first only the bounds 0 … 950 are known.
    assert machine.state("gpu-clock-throttle", "gpu5").value["gains"]["hw_thermal:delta_over"] == [0, 950]
    kept = NodeMemory.objects.get(node=machine.node, item="gpu-clock-throttle", subject="gpu4").state
    assert kept["counters"]["hw_thermal"] == 900


@pytest.mark.django_db
def test_a_reboot_is_no_trouble(machine: Machine) -> None:
    machine.push()
    machine.reboot("boot-2")
    machine.push()

    assert (machine.node.trouble, machine.node.boot_id, machine.node.past_boots) == ("", "boot-2", ["boot-1"])


@pytest.mark.django_db
def test_two_boot_ids_that_alternate_on_one_token_make_the_node_doubtful(machine: Machine) -> None:
    machine.push()
    machine.reboot("boot-2")
    machine.push()
    machine.reboot("boot-1")
    receipt = machine.push()

    assert receipt.trouble == "boot_conflict"
    assert machine.node.trouble == "boot_conflict"


@pytest.mark.django_db
def test_a_spooled_report_of_the_boot_before_is_no_second_machine(machine: Machine) -> None:
    machine.push()
    spooled = machine.report()
    machine.sleep(timedelta(minutes=30))
    machine.boot_id, machine.boottime = "boot-2", 60.0
    machine.push()
    machine.push(spooled, age_s=1800)

    assert machine.node.trouble == ""
    assert machine.node.boot_id == "boot-2"


@pytest.mark.django_db
def test_replayed_captures_of_several_boots_are_one_machine() -> None:
    machine = enrolled_machine(make_cluster(accept_replay=True), origin="replay")
    for boot in ("a", "b", "a"):
        machine.boot_id = boot
        machine.push()
        machine.sleep()

    assert machine.node.trouble == ""


@pytest.mark.django_db
def test_trouble_says_nothing_about_when_it_was_measured(machine: Machine) -> None:
    machine.serials["system"] = "SYS-2"
    machine.push()

    assert machine.readiness.tick_at == NOON
