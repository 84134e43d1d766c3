"""What the XML of nvidia-smi says, on real outputs of drivers 384 to 595. Values are read from the files by eye."""

from __future__ import annotations

from typing import Any

import pytest

from readiness_agent.parsers.nvidia_smi_xml import SmiGpu, parse_smi_xml
from tests.agents.parsers.inputs import shared

DEPRECATED = "Requested functionality has been deprecated"
BURN = "captures/h200x2-burn/commands/smi-q-x.{}.xml"


def gpu_of(text: str, index: int = 0) -> SmiGpu:
    return parse_smi_xml(text).gpus[index]


def minimal(inner: str, attached: int = 1) -> str:
    return (
        f'<?xml version="1.0" ?>\n<nvidia_smi_log>\n<attached_gpus>{attached}</attached_gpus>\n'
        f'<gpu id="00000000:1A:00.0">\n{inner}\n</gpu>\n</nvidia_smi_log>\n'
    )


H200_UNDER_LOAD = {
    "bus_id": "0000:00:07.0",
    "uuid": "GPU-00000000-0000-4000-8000-000000000002",
    "persistence": True,
    "mig": False,
    "compute_mode": "Default",
    "ecc_enabled": True,
    "volatile_uncorrectable": 0,
    "volatile_correctable": 0,
    "aggregate_sram_uncorrectable": 0,
    "sram_threshold_exceeded": False,
    "remap_pending": False,
    "remap_failed": False,
    "width": 16,
    "width_max": 16,
    "generation": 5,
    "generation_max": 5,
    "temperature": 70,
    "tlimit": 14,
    "utilization": 98,
    "sm_clock": 1455,
    "hw_slowdown_active": False,
    "hw_thermal": 0,
    "power_brake": 0,
    "sw_thermal": 0,
    "sw_power_cap": 396479768,
    "memory_used": 1011,
    "fabric_state": "Completed",
    "fabric_status": "Success",
    "clique": "0",
    "cluster_uuid": "00000000-0000-0000-0000-000000000000",
    "vbios": "96.00.A5.00.1A",
    "inforom": "G520.0282.02.02",
    "part_number": "692-2G520-0282-000",
    "lost": None,
}


@pytest.mark.parametrize(("field", "expected"), H200_UNDER_LOAD.items())
def test_a_loaded_h200_is_read_field_by_field(field: str, expected: Any) -> None:
    assert getattr(gpu_of(shared(BURN.format("load3")), 1), field) == expected


def test_a_job_shows_as_the_process_that_holds_the_memory() -> None:
    processes = gpu_of(shared(BURN.format("load3"))).processes

    assert [(one.pid, one.kind, one.used_memory) for one in processes or ()] == [(1488, "C", 1002)]


def test_an_idle_gpu_has_an_empty_list_of_processes_which_is_not_unknown() -> None:
    assert gpu_of(shared(BURN.format("idle0"))).processes == ()


def test_the_log_counts_what_the_driver_attached() -> None:
    log = parse_smi_xml(shared(BURN.format("idle0")))

    assert (log.driver_version, log.attached_gpus, len(log.gpus), log.error) == ("580.159.04", 2, 2, None)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("a100_sxm4_80_mig_535.xml", {
        "persistence": False, "mig": True, "ecc_enabled": True, "volatile_uncorrectable": 0,
        "aggregate_sram_uncorrectable": 0, "sram_threshold_exceeded": None, "generation": 4, "generation_max": 4,
        "width": 16, "width_max": 16, "remap_pending": None, "remap_failed": None, "utilization": None,
        "hw_slowdown_active": False, "hw_thermal": None, "tlimit": None, "temperature": 27, "memory_used": 50,
        "part_number": "692-2G506-0212-002", "bus_id": "0000:01:00.0",
    }),
    ("a100_40_mig_510.xml", {
        "persistence": False, "mig": True, "ecc_enabled": True, "volatile_uncorrectable": None,
        "volatile_correctable": None, "aggregate_sram_uncorrectable": 0, "remap_pending": None, "generation": 4,
        "hw_slowdown_active": False, "sm_clock": 1410, "fabric_state": None, "memory_used": 38,
        "part_number": "692-2G506-0200-003", "processes": (),
    }),
    ("t4_515.xml", {
        "width": 8, "width_max": 16, "generation": 3, "generation_max": 3, "persistence": False,
        "ecc_enabled": True, "volatile_uncorrectable": 0, "remap_pending": False, "remap_failed": False,
        "mig": None, "utilization": 0, "temperature": 40, "sm_clock": 585, "memory_used": 1032,
    }),
    ("gtx1070ti_partial.xml", {
        "generation": 1, "generation_max": None, "width": 16, "width_max": None, "ecc_enabled": None,
        "persistence": None, "volatile_uncorrectable": None, "hw_slowdown_active": None, "processes": None,
        "memory_used": None, "temperature": 39,
    }),
    ("rtx3080_595_v13.xml", {
        "persistence": False, "ecc_enabled": None, "generation": 4, "width": 16, "remap_pending": None,
        "volatile_uncorrectable": None, "sram_threshold_exceeded": None, "hw_thermal": 0, "sw_power_cap": 0,
        "fabric_state": None, "utilization": 65, "lost": None, "memory_used": 9184,
    }),
    ("rtx4090_535.xml", {
        "persistence": True, "ecc_enabled": False, "generation": 1, "generation_max": 3, "width": 16,
        "remap_pending": False, "remap_failed": False, "volatile_uncorrectable": None, "tlimit": 43, "sm_clock": 210,
    }),
    ("rtxpro6000_580_fragment.xml", {
        "temperature": 37, "tlimit": 56, "ecc_enabled": None, "width": None, "generation": None, "persistence": None,
    }),
    ("rtx2080_win_516.xml", {
        "persistence": None, "ecc_enabled": None, "width": 8, "width_max": 16, "generation": 3, "generation_max": 3,
        "remap_pending": None, "sm_clock": 193,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("file", "expected"), CASES, ids=[file for file, _ in CASES])
def test_other_drivers_and_parts_are_read_and_what_they_leave_out_stays_unknown(
    file: str, expected: dict[str, Any]
) -> None:
    gpu = gpu_of(shared(f"cases/smi_xml/{file}"))

    assert {field: getattr(gpu, field) for field in expected} == expected


def test_a_report_that_announces_more_gpus_than_it_describes_keeps_both_numbers() -> None:
    log = parse_smi_xml(shared("cases/smi_xml/a100_sxm4_80_mig_535.xml"))

    assert (log.attached_gpus, len(log.gpus)) == (4, 1)


def test_a_report_without_a_count_has_no_count_rather_than_zero() -> None:
    assert parse_smi_xml(shared("cases/smi_xml/gtx1070ti_partial.xml")).attached_gpus is None


def test_mig_instances_are_not_gpus() -> None:
    assert len(parse_smi_xml(shared("cases/smi_xml/a100_40_mig_510.xml")).gpus) == 1


def test_a_report_cut_in_a_tag_keeps_the_error_with_its_byte_and_describes_no_gpu() -> None:
    text = shared("cases/smi_xml/gt730_truncated.xml")

    log = parse_smi_xml(text)

    assert log.gpus == ()
    assert log.attached_gpus is None
    assert f"byte {text.index('<gpu_operation_mod')}" in (log.error or "")


@pytest.mark.parametrize("word", ["N/A", "[N/A]", "Unknown Error", "Requested functionality has been deprecated", ""])
def test_a_word_where_a_number_is_expected_is_unknown_and_never_zero(word: str) -> None:
    gpu = gpu_of(
        minimal(
            f"<ecc_errors><volatile><sram_uncorrectable>{word}</sram_uncorrectable>"
            f"<dram_uncorrectable>{word}</dram_uncorrectable></volatile></ecc_errors>"
            f"<temperature><gpu_temp>{word}</gpu_temp></temperature>"
        )
    )

    assert gpu.volatile_uncorrectable is None
    assert gpu.temperature is None


def test_uncorrectable_errors_are_the_sum_of_parity_secded_and_dram() -> None:
    gpu = gpu_of(
        minimal(
            "<ecc_errors><volatile><sram_uncorrectable_parity>1</sram_uncorrectable_parity>"
            "<sram_uncorrectable_secded>2</sram_uncorrectable_secded><dram_uncorrectable>4</dram_uncorrectable>"
            "</volatile></ecc_errors>"
        )
    )

    assert gpu.volatile_uncorrectable == 7


def test_a_sum_with_one_unknown_part_is_unknown() -> None:
    gpu = gpu_of(
        minimal(
            "<ecc_errors><volatile><sram_uncorrectable_parity>0</sram_uncorrectable_parity>"
            "<dram_uncorrectable>0</dram_uncorrectable></volatile></ecc_errors>"
        )
    )

    assert gpu.volatile_uncorrectable is None


def test_a_sum_that_is_already_over_zero_is_kept_although_one_part_is_unknown() -> None:
    gpu = gpu_of(
        minimal(
            "<ecc_errors><volatile><sram_uncorrectable>N/A</sram_uncorrectable>"
            "<dram_uncorrectable>3</dram_uncorrectable></volatile></ecc_errors>"
        )
    )

    assert gpu.volatile_uncorrectable == 3


def test_a_v100_counts_double_bit_errors_and_retires_pages() -> None:
    gpu = gpu_of(
        minimal(
            "<ecc_errors><volatile><single_bit><total>5</total></single_bit><double_bit><total>1</total></double_bit>"
            "</volatile></ecc_errors>"
            "<retired_pages><multiple_single_bit_retirement><retired_count>2</retired_count>"
            "</multiple_single_bit_retirement><double_bit_retirement><retired_count>1</retired_count>"
            "</double_bit_retirement><pending_retirement>Yes</pending_retirement></retired_pages>"
        )
    )

    assert (gpu.volatile_correctable, gpu.volatile_uncorrectable) == (5, 1)
    assert (gpu.remap_pending, gpu.remap_failed) == (True, False)


def test_a_full_table_of_retired_pages_is_a_failed_remap() -> None:
    gpu = gpu_of(
        minimal(
            "<retired_pages><multiple_single_bit_retirement><retired_count>40</retired_count>"
            "</multiple_single_bit_retirement><double_bit_retirement><retired_count>24</retired_count>"
            "</double_bit_retirement><pending_blacklist>No</pending_blacklist></retired_pages>"
        )
    )

    assert (gpu.remap_pending, gpu.remap_failed) == (False, True)


@pytest.mark.parametrize("block", ["clocks_throttle_reasons", "clocks_event_reasons"])
def test_a_thermal_slowdown_counts_under_the_old_and_the_new_name(block: str) -> None:
    reason = block[:-1]
    gpu = gpu_of(
        minimal(
            f"<{block}><{reason}_hw_slowdown>Not Active</{reason}_hw_slowdown>"
            f"<{reason}_hw_thermal_slowdown>Active</{reason}_hw_thermal_slowdown></{block}>"
        )
    )

    assert gpu.hw_slowdown_active is True


def test_a_software_power_cap_is_no_hardware_slowdown() -> None:
    assert gpu_of(shared(BURN.format("load0"))).hw_slowdown_active is False


@pytest.mark.parametrize(
    "inner",
    [
        "<fan_speed>ERR!</fan_speed>",
        "<temperature><gpu_temp>GPU is lost</gpu_temp></temperature>",
        "<utilization><gpu_util>[GPU requires reset]</gpu_util></utilization>",
        "<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>",
        "<gpu_recovery_action>Reset</gpu_recovery_action>",
        "<gpu_recovery_action>Drain and Reset</gpu_recovery_action>",
    ],
)
def test_a_gpu_that_is_lost_or_wants_a_reset_says_so_in_one_of_its_fields(inner: str) -> None:
    gpu = gpu_of(minimal(inner))

    assert gpu.lost or gpu.recovery


@pytest.mark.parametrize(
    "inner",
    [
        f"<gpu_reset_status><reset_required>{DEPRECATED}</reset_required></gpu_reset_status>",
        "<gpu_recovery_action>None</gpu_recovery_action>",
        "<gpu_recovery_action>N/A</gpu_recovery_action>",
        "<processes><process_info><pid>7</pid><process_name>ERR! GPU is lost</process_name></process_info></processes>",
    ],
)
def test_a_deprecated_field_or_the_name_of_a_process_does_not_make_a_gpu_lost(inner: str) -> None:
    gpu = gpu_of(minimal(inner))

    assert (gpu.lost, gpu.recovery) == (None, None)


def test_a_process_name_that_breaks_the_xml_does_not_cost_the_report() -> None:
    text = minimal(
        "<processes>\n<process_info><pid>7</pid><type>C</type>\n<process_name>python a<b && c</process_name>\n"
        "<used_memory>5 MiB</used_memory></process_info>\n</processes>"
    )

    assert [one.pid for one in gpu_of(text).processes or ()] == [7]


def test_a_gpu_with_a_lost_handle_beside_the_xml_is_named() -> None:
    text = "Unable to determine the device handle for GPU0000:1B:00.0: GPU is lost.\n" + minimal("", attached=2)

    assert parse_smi_xml(text).lost_handles == ("0000:1b:00.0",)


def test_an_entity_declaration_is_refused() -> None:
    text = minimal("").replace("<nvidia_smi_log>", '<!DOCTYPE x [<!ENTITY a "0">]><nvidia_smi_log>', 1)

    assert "entity" in (parse_smi_xml(text).error or "")


def test_a_deprecation_note_after_a_version_is_no_part_of_it() -> None:
    text = minimal("").replace(
        "<attached_gpus>", "<driver_version>610.57.04 [Deprecated; use kmd_version]</driver_version><attached_gpus>"
    )

    assert parse_smi_xml(text).driver_version == "610.57.04"
