"""The report of ``nvidia-smi -q`` as people save it. Values are read from the files by eye."""

from __future__ import annotations

from typing import Any

import pytest

from readiness_agent.parsers.nvidia_smi_text import parse_smi_text
from readiness_agent.parsers.nvidia_smi_xml import parse_smi_xml
from tests.agents.parsers.inputs import shared

CASES: list[tuple[str, dict[str, Any]]] = [
    ("h100_590_idle_q.txt", {
        "bus_id": "0000:00:09.0", "persistence": True, "mig": False, "ecc_enabled": True, "generation": 5,
        "generation_max": 5, "width": 16, "width_max": 16, "volatile_uncorrectable": 0, "remap_pending": False,
        "remap_failed": False, "fabric_state": "Completed", "fabric_status": "Success", "recovery": None, "lost": None,
        "hw_slowdown_active": False, "hw_thermal": 0, "temperature": 41, "tlimit": 46, "sm_clock": 345,
        "processes": (), "part_number": "692-2G520-0200-000", "sram_threshold_exceeded": False, "memory_used": 0,
    }),
    ("h100_mig_590_idle_q.txt", {
        "mig": True, "remap_pending": None, "remap_failed": None, "volatile_uncorrectable": 0, "generation": 5,
        "width": 16,
    }),
    ("h200_590_load_q.txt", {
        "persistence": True, "mig": False, "volatile_uncorrectable": 0, "generation": 5, "width": 16,
        "remap_pending": False, "remap_failed": False, "temperature": 52, "recovery": None,
    }),
    ("rtx2080s_610_idle_q.txt", {
        "persistence": False, "ecc_enabled": None, "generation": 1, "generation_max": 3, "width": 16, "width_max": 16,
        "volatile_uncorrectable": None, "remap_pending": None,
    }),
    ("rtx4080s_595_idle_q.txt", {
        "persistence": False, "generation": 1, "generation_max": 4, "width": 16, "width_max": 16, "ecc_enabled": None,
        "remap_pending": None, "mig": None,
    }),
    ("a100_remap_pending_510_excerpt.txt", {
        "bus_id": "0000:10:1c.0", "volatile_correctable": 177, "volatile_uncorrectable": 0, "remap_pending": True,
        "remap_failed": False, "aggregate_sram_uncorrectable": 0, "width": None, "processes": None,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("file", "expected"), CASES, ids=[file for file, _ in CASES])
def test_a_report_in_plain_text_is_read_like_the_one_in_xml(file: str, expected: dict[str, Any]) -> None:
    (gpu,) = parse_smi_text(shared(f"cases/smi_q/{file}")).gpus

    assert {field: getattr(gpu, field) for field in expected} == expected


def test_one_node_says_the_same_in_both_formats() -> None:
    text = parse_smi_text(shared("captures/h200x2/nvidia-smi-q.txt"))
    xml = parse_smi_xml(shared("captures/h200x2/nvidia-smi-q.xml"))
    moving = dict.fromkeys(("temperature", "tlimit", "utilization", "sm_clock"))

    assert [gpu._replace(**moving) for gpu in text.gpus] == [gpu._replace(**moving) for gpu in xml.gpus]


def test_the_note_behind_a_version_is_no_part_of_it() -> None:
    assert parse_smi_text(shared("cases/smi_q/rtx2080s_610_idle_q.txt")).driver_version == "610.57.04"


def test_a_report_of_one_of_eight_gpus_keeps_both_numbers() -> None:
    log = parse_smi_text(shared("cases/smi_q/a100_remap_pending_510_excerpt.txt"))

    assert (log.attached_gpus, len(log.gpus)) == (8, 1)


def test_processes_are_read_with_their_memory() -> None:
    (gpu,) = parse_smi_text(shared("cases/smi_q/h200_590_load_q.txt")).gpus

    found = [(one.pid, one.kind, one.used_memory) for one in gpu.processes or ()]
    assert found[:2] == [(10291, "C", 2566), (10293, "C", 1542)]


@pytest.mark.parametrize(
    ("file", "slowdown"), [("clocks_event_sw_power_cap.txt", False), ("clocks_throttle_old_name.txt", False)]
)
def test_an_excerpt_without_a_head_belongs_to_one_gpu_of_no_address(file: str, slowdown: bool) -> None:
    (gpu,) = parse_smi_text(shared(f"cases/smi_q/{file}")).gpus

    assert (gpu.bus_id, gpu.hw_slowdown_active) == ("", slowdown)


def test_a_sentence_in_a_field_of_yes_and_no_is_neither() -> None:
    (gpu,) = parse_smi_text(shared("cases/smi_q/reset_status_deprecated_575.txt")).gpus

    assert (gpu.lost, gpu.recovery) == (None, None)


def test_an_unfinished_last_line_is_left_out() -> None:
    (gpu,) = parse_smi_text(
        "GPU 00000000:01:00.0\n    ECC Errors\n        Volatile\n            DRAM Uncorrectable : 1"
    ).gpus

    assert gpu.volatile_uncorrectable is None


def test_a_text_of_another_kind_has_no_gpu_and_says_so() -> None:
    log = parse_smi_text("Segmentation fault\n")

    assert (log.gpus, bool(log.error)) == ((), True)
