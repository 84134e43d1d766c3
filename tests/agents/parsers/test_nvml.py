"""What NVML's raw answers mean: the same records as the reports of nvidia-smi, from the same two H200 under load."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.nvidia_smi_xml import SmiGpu, SmiProcess
from readiness_agent.parsers.nvml import NvmlLog, parse_nvml

CAPTURE = Path(__file__).parents[2] / "captures" / "nvml-2xh200-load.json"


@pytest.fixture
def raw() -> Any:
    return json.loads(CAPTURE.read_text())


def gpu(raw: Any, place: int = 0) -> SmiGpu:
    return parse_nvml(raw).smi.gpus[place]


def without(raw: Any, name: str, code: int = 3) -> Any:
    """The same answers, but for one that the driver refuses."""
    changed = copy.deepcopy(raw)
    for one in changed["gpus"]:
        one["values"].pop(name, None)
        one["errors"][name] = code
    return changed


def answering(raw: Any, **values: Any) -> Any:
    """The same answers, but for some of the first GPU."""
    changed = copy.deepcopy(raw)
    changed["gpus"][0]["values"].update({name.replace("_", " ", 1): value for name, value in values.items()})
    return changed


def test_the_node_has_two_gpus(raw: Any) -> None:
    log = parse_nvml(raw)

    assert (log.smi.driver_version, log.smi.attached_gpus, len(log.smi.gpus)) == ("580.159.04", 2, 2)
    assert (log.smi.error, log.smi.lost_handles) == (None, ())


def test_a_loaded_gpu_is_described_as_by_nvidia_smi(raw: Any) -> None:
    assert gpu(raw) == SmiGpu(
        bus_id="0000:00:06.0", uuid="GPU-00000000-0000-4000-8000-000000000001", persistence=True, mig=False,
        compute_mode="Default", ecc_enabled=True, volatile_uncorrectable=0, volatile_correctable=0,
        aggregate_sram_uncorrectable=0, sram_threshold_exceeded=False, remap_pending=False, remap_failed=False,
        width=16, width_max=16, generation=5, generation_max=5, temperature=52, tlimit=35, utilization=99,
        sm_clock=1470, hw_slowdown_active=False, hw_thermal=0, power_brake=0, sw_thermal=0, sw_power_cap=11848647,
        memory_used=1011, fabric_state="Completed", fabric_status="Success", clique="0",
        cluster_uuid="00000000-0000-0000-0000-000000000000", vbios="96.00.A5.00.1A", inforom="G520.0282.02.02",
        part_number="692-2G520-0282-001", processes=(SmiProcess(565, "C", 1002),), lost=None, recovery=None,
    )  # fmt: skip


def test_all_18_links_are_up_at_26_562_gigabytes_a_second_without_errors(raw: Any) -> None:
    log = parse_nvml(raw)

    assert [(one.uuid, one.links_up, one.slowest) for one in log.links] == [
        ("GPU-00000000-0000-4000-8000-000000000001", 18, 26.562),
        ("GPU-00000000-0000-4000-8000-000000000002", 18, 26.562),
    ]
    assert [(one.replay, one.recovery, one.crc, one.effective_ber) for one in log.link_errors] == [(0, 0, 0, None)] * 2


def test_a_link_that_is_not_active_is_not_up(raw: Any) -> None:
    changed = answering(raw, **{"field_165 link 4": 0})

    assert parse_nvml(changed).links[0].links_up == 17


def test_a_link_whose_state_is_not_told_leaves_its_gpu_incomplete(raw: Any) -> None:
    assert not parse_nvml(without(raw, "field 165 link 4", 999)).links[0].complete


def test_a_gpu_without_links_has_no_nvlink_and_one_that_does_not_say_is_unknown(raw: Any) -> None:
    assert parse_nvml(without(raw, "field 91", 3)).links[0].supported is False
    assert parse_nvml(answering(raw, field_91=0)).links[0].supported is False
    assert parse_nvml(without(raw, "field 91", 999)).links[0].supported is None


def test_newer_links_tell_recoveries_and_bit_errors_in_fields_of_their_own(raw: Any) -> None:
    changed = copy.deepcopy(raw)
    values = changed["gpus"][0]["values"]
    for link in range(18):
        for number in (161, 162, 163):
            del values[f"field {number} link {link}"]
        values[f"field 215 link {link}"] = 0
        values[f"field 220 link {link}"] = 15 << 8 | 255
    values["field 215 link 3"] = 2
    values["field 220 link 3"] = 3 << 8 | 8

    errors = parse_nvml(changed).link_errors[0]

    assert (errors.replay, errors.recovery, errors.crc, errors.effective_ber) == (None, 2, None, 3e-8)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("ecc_mode", "ecc_enabled"), ("mig_mode", "mig"), ("margin", "tlimit"), ("fabric", "fabric_state"),
        ("utilization", "utilization"), ("field 270", "hw_thermal"), ("clocks_event_reasons", "hw_slowdown_active"),
        ("memory", "memory_used"), ("link_width", "width"), ("compute", "processes"), ("inforom", "inforom"),
        ("sram", "sram_threshold_exceeded"), ("remapped_rows", "remap_failed"), ("field 74", "sw_power_cap"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_unknown_and_never_zero(raw: Any, name: str, field: str) -> None:
    assert getattr(gpu(raw), field) is not None
    assert getattr(gpu(without(raw, name)), field) is None


def test_errors_of_sram_and_dram_are_added(raw: Any) -> None:
    changed = answering(raw)
    changed["gpus"][0]["values"]["sram"].update(volatile_parity=1, volatile_secded=2, aggregate_secded=6)
    changed["gpus"][0]["values"].update(volatile_uncorrected_dram=4, volatile_corrected_dram=9)

    found = gpu(changed)

    assert (found.volatile_uncorrectable, found.volatile_correctable) == (7, 9)
    assert found.aggregate_sram_uncorrectable == 6


def test_a_driver_without_the_structure_for_sram_is_asked_for_its_counters(raw: Any) -> None:
    changed = without(raw, "sram", 13)
    for one in changed["gpus"]:
        one["values"].update(
            volatile_corrected_sram=0, volatile_uncorrected_sram=1, aggregate_uncorrected_sram=5,
            volatile_corrected_total=0, volatile_uncorrected_total=1,
        )  # fmt: skip

    found = gpu(changed)

    assert (found.volatile_uncorrectable, found.aggregate_sram_uncorrectable) == (1, 5)
    assert found.sram_threshold_exceeded is None


def test_rows_that_wait_or_failed_are_told(raw: Any) -> None:
    changed = copy.deepcopy(raw)
    changed["gpus"][0]["values"]["remapped_rows"] = [1, 0, 1, 1]

    found = gpu(changed)

    assert (found.remap_pending, found.remap_failed) == (True, True)


@pytest.mark.parametrize(("mask", "slow"), [(0x4, False), (0x8, True), (0x40, True), (0x80, True), (0x20, False)])
def test_only_the_hardware_slows_down_in_hardware(raw: Any, mask: int, slow: bool) -> None:
    changed = copy.deepcopy(raw)
    changed["gpus"][0]["values"]["clocks_event_reasons"] = mask

    assert gpu(changed).hw_slowdown_active is slow


@pytest.mark.parametrize(("code", "word"), [(15, "lost"), (16, "reset")])
def test_a_gpu_that_answers_that_it_is_lost_is_lost(raw: Any, code: int, word: str) -> None:
    found = gpu(without(raw, "temperature", code))

    assert word in (found.lost or "")


def test_a_gpu_that_cannot_be_opened_is_counted_and_not_described(raw: Any) -> None:
    changed = copy.deepcopy(raw)
    changed["gpus"][1] = {"values": {}, "errors": {"handle": 15}}

    log = parse_nvml(changed)

    assert (log.smi.attached_gpus, len(log.smi.gpus), len(log.smi.lost_handles)) == (2, 1, 1)
    assert [one.uuid for one in log.links] == ["GPU-00000000-0000-4000-8000-000000000001"]


@pytest.mark.parametrize(
    ("action", "words"), [(1, "GPU reset"), (2, "node reboot"), (4, "drain and reset"), (99, "99")]
)
def test_a_recovery_that_the_driver_asks_for_is_named(raw: Any, action: int, words: str) -> None:
    assert words in (gpu(answering(raw, field_230=action)).recovery or "")


def test_a_fabric_that_is_not_there_is_unknown_and_one_that_failed_says_so(raw: Any) -> None:
    absent, failed = copy.deepcopy(raw), copy.deepcopy(raw)
    absent["gpus"][0]["values"]["fabric"]["state"] = 0
    failed["gpus"][0]["values"]["fabric"]["status"] = 999

    assert (gpu(absent).fabric_state, gpu(absent).fabric_status) == (None, None)
    assert (gpu(failed).fabric_state, gpu(failed).fabric_status) == ("Completed", "error 999")


def test_processes_of_both_kinds_are_listed_once(raw: Any) -> None:
    changed = copy.deepcopy(raw)
    values = changed["gpus"][0]["values"]
    values["graphics"] = [{"pid": 565, "used": 1050673152}, {"pid": 90, "used": 18446744073709551615}]

    assert gpu(changed).processes == (SmiProcess(565, "C+G", 1002), SmiProcess(90, "G", None))


@pytest.mark.parametrize("raw_answer", [None, [], {}, {"gpus": 3}, {"values": {}, "errors": {}, "gpus": [1]}, "x"])
def test_what_is_no_answer_of_nvml_is_unreadable(raw_answer: Any) -> None:
    with pytest.raises(Unreadable):
        parse_nvml(raw_answer)


@pytest.mark.parametrize("damage", [None, "x", -1, 1e9, [], {}, True])
def test_a_value_of_the_wrong_kind_is_unknown(raw: Any, damage: Any) -> None:
    for name in list(raw["gpus"][0]["values"]):
        if name == "pci":
            continue
        changed = copy.deepcopy(raw)
        changed["gpus"][0]["values"][name] = damage
        assert isinstance(parse_nvml(changed), NvmlLog)
