"""What the GPU probe says about a node, from real reports of nvidia-smi."""

from __future__ import annotations

import pytest

from readiness_agent.facts import (
    ERROR,
    EVERY_SUBJECT,
    HUNG,
    MISSING,
    NOT_CAPTURED,
    UNREADABLE,
    CouldNotMeasure,
    ProbeResult,
)
from readiness_agent.probes.gpu import GPU
from readiness_agent.source import ProbeContext
from tests.agents.parsers.inputs import shared
from tests.agents.probes.fake_source import Answer, FakeSource, ended, problems, values

SMI = "nvidia-smi -q -x"
BURN = "captures/h200x2-burn/commands/smi-q-x.{}.xml"
JOB = {"/proc/1488/cgroup": "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n"}


def measure(answer: Answer, files: dict[str, str] | None = None, absent: str = MISSING) -> ProbeResult:
    return GPU.run(FakeSource(files, {SMI: answer}, absent=absent), ProbeContext())


def pci(*addresses: str) -> dict[str, str]:
    files = {}
    for address in addresses:
        files[f"/sys/bus/pci/devices/{address}/vendor"] = "0x10de\n"
        files[f"/sys/bus/pci/devices/{address}/class"] = "0x030200\n"
    return files


@pytest.mark.parametrize("item", GPU.items)
def test_without_nvidia_smi_every_item_is_missing_and_never_absent_from_the_report(item: str) -> None:
    result = GPU.run(FakeSource(), ProbeContext())

    assert problems(result, item) == [(EVERY_SUBJECT, MISSING)]
    assert result.facts == ()


def test_a_driver_that_hangs_is_hung() -> None:
    result = measure(CouldNotMeasure(HUNG, "nvidia-smi: no answer after 8 s"))

    assert {one.kind for one in result.problems} == {HUNG}


def test_two_idle_h200_are_present_and_none_is_lost() -> None:
    result = measure(shared(BURN.format("idle0")))

    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 0}


def test_an_idle_gpu_is_clean() -> None:
    result = measure(shared(BURN.format("idle0")))

    assert values(result, "gpu-clean", "gpu0") == {
        "foreign_processes": 0, "job_processes": 0, "memory_used": 0, "mig_enabled": False, "compute_mode": "Default",
    }  # fmt: skip


def test_a_process_in_the_cgroup_of_a_scheduler_is_the_jobs() -> None:
    result = measure(shared(BURN.format("load0")), JOB)

    assert values(result, "gpu-clean", "gpu1")["job_processes"] == 1
    assert values(result, "gpu-clean", "gpu1")["foreign_processes"] == 0
    assert values(result, "gpu-clean", "gpu1")["memory_used"] == 1011


def test_a_process_outside_of_a_scheduler_is_foreign() -> None:
    result = measure(shared(BURN.format("load0")), {"/proc/1488/cgroup": "0::/user.slice/session-3.scope\n"})

    assert values(result, "gpu-clean", "gpu0")["foreign_processes"] == 1


def test_a_process_whose_cgroup_was_not_captured_leaves_the_gpu_unjudged() -> None:
    result = measure(shared(BURN.format("load0")), absent=NOT_CAPTURED)

    assert values(result, "gpu-clean", "gpu0") == {}
    assert ("gpu0", NOT_CAPTURED) in problems(result, "gpu-clean")


def test_errors_temperature_and_link_of_a_loaded_gpu_are_reported_with_its_utilization() -> None:
    result = measure(shared(BURN.format("load3")), JOB)

    assert values(result, "gpu-ecc", "gpu1") == {
        "ecc_enabled": True, "volatile_uncorrectable": 0, "volatile_correctable": 0,
        "aggregate_sram_uncorrectable": 0, "sram_threshold_exceeded": False, "remap_pending": False,
        "remap_failed": False,
    }  # fmt: skip
    assert values(result, "gpu-temperature", "gpu1") == {"temperature": 70, "tlimit": 14, "utilization": 98}
    assert values(result, "gpu-pcie-width", "gpu1") == {"width": 16, "width_max": 16}
    assert values(result, "gpu-pcie-generation", "gpu1") == {
        "generation": 5, "generation_max": 5, "utilization": 98,
    }  # fmt: skip
    assert values(result, "gpu-clock-throttle", "gpu1") == {
        "hw_slowdown_active": False, "hw_thermal": 0, "power_brake": 0, "sw_thermal": 0, "sw_power_cap": 396479768,
        "sm_clock": 1455, "utilization": 98,
    }  # fmt: skip


def test_the_fabric_of_the_node_is_complete_and_its_ids_are_shown() -> None:
    result = measure(shared(BURN.format("idle1")))

    assert values(result, "gpu-fabric") == {
        "fabric_states": "Completed", "fabric_statuses": "Success", "cliques": "0",
        "cluster_uuids": "00000000-0000-0000-0000-000000000000",
    }  # fmt: skip


def test_a_gpu_that_the_fabric_has_not_taken_is_told_beside_one_that_it_has() -> None:
    first, mark, rest = shared(BURN.format("idle1")).partition("<state>Completed</state>")

    result = measure(f"{first}<state>In Progress</state>{rest}")

    assert mark
    assert values(result, "gpu-fabric")["fabric_states"] == "Completed, In Progress"


def test_a_gpu_that_tells_no_fabric_state_is_a_problem_beside_what_the_other_tells() -> None:
    first, _, rest = shared(BURN.format("idle1")).partition("<state>Completed</state>")

    result = measure(f"{first}<state>N/A</state>{rest}")

    assert values(result, "gpu-fabric")["fabric_states"] == "Completed"
    assert problems(result, "gpu-fabric") == [("", UNREADABLE)]


def test_firmware_and_persistence_are_reported_on_the_way() -> None:
    result = measure(shared(BURN.format("idle0")))

    assert values(result, "gpu-firmware", "gpu0") == {
        "vbios": "96.00.A5.00.1A", "inforom": "G520.0282.02.02", "part_number": "692-2G520-0282-000",
    }  # fmt: skip
    assert values(result, "persistence-mode") == {"gpus_without_persistence": 0}


def test_units_are_those_of_the_catalogue() -> None:
    result = measure(shared(BURN.format("load0")), JOB)
    units = {(one.item, one.name): one.unit for one in result.facts}

    assert units["gpu-clean", "memory_used"] == "MiB"
    assert units["gpu-temperature", "tlimit"] == "celsius"
    assert units["gpu-clock-throttle", "hw_thermal"] == "microseconds"
    assert units["gpu-pcie-width", "width"] == "lanes"
    assert units["gpu-clock-throttle", "hw_slowdown_active"] == "bool"


def test_facts_carry_the_time_after_boot_at_which_the_probe_began() -> None:
    assert {one.observed_at for one in measure(shared(BURN.format("idle0"))).facts} == {5000.0}


def test_gpus_that_are_attached_and_not_described_are_lost() -> None:
    result = measure(shared("cases/smi_xml/a100_sxm4_80_mig_535.xml"))

    assert values(result, "gpu-present") == {"gpus_visible": 1, "gpus_lost": 3}
    assert values(result, "persistence-mode") == {"gpus_without_persistence": 1}


def test_a_mig_gpu_without_volatile_counters_sends_the_counters_that_it_has() -> None:
    result = measure(shared("cases/smi_xml/a100_40_mig_510.xml"))

    assert values(result, "gpu-ecc", "gpu0") == {"ecc_enabled": True, "aggregate_sram_uncorrectable": 0}
    assert values(result, "gpu-clean", "gpu0")["mig_enabled"] is True


def test_a_report_without_a_count_of_gpus_is_unreadable_for_their_presence() -> None:
    result = measure(shared("cases/smi_xml/gtx1070ti_partial.xml"))

    assert values(result, "gpu-present") == {}
    assert problems(result, "gpu-present") == [("", UNREADABLE)]


def test_what_a_gpu_does_not_report_at_all_is_a_problem_and_not_a_zero() -> None:
    result = measure(shared("cases/smi_xml/rtx3080_595_v13.xml"))

    assert problems(result, "gpu-ecc") == [("gpu0", UNREADABLE)]
    assert values(result, "gpu-fabric") == {}
    assert set(problems(result, "gpu-fabric")) == {("", UNREADABLE)}


def test_a_cut_report_has_no_facts_and_keeps_the_byte_at_which_it_ends() -> None:
    result = measure(shared("cases/smi_xml/gt730_truncated.xml"))

    assert result.facts == ()
    assert {one.kind for one in result.problems} == {UNREADABLE}
    assert "byte" in result.problems[0].detail


def test_a_gpu_that_cannot_be_opened_is_lost_and_the_others_are_unknown() -> None:
    result = measure(ended(shared("cases/smi_err/unable_to_determine_handle.txt"), 255))

    assert values(result, "gpu-present") == {"gpus_lost": 1}
    assert problems(result, "gpu-ecc") == [(EVERY_SUBJECT, ERROR)]


def test_without_a_driver_no_gpu_is_visible() -> None:
    result = measure(ended(shared("cases/smi_err/driver_comm_failure.txt"), 9))

    assert values(result, "gpu-present") == {"gpus_visible": 0}
    assert problems(result, "gpu-temperature") == [(EVERY_SUBJECT, ERROR)]


def test_the_message_of_a_missing_driver_counts_on_standard_error_too() -> None:
    result = measure(ended("", 9, shared("cases/smi_err/driver_comm_failure.txt")))

    assert values(result, "gpu-present") == {"gpus_visible": 0}


def test_a_gpu_with_an_unreadable_cell_is_lost_and_its_other_zeros_prove_nothing() -> None:
    text = shared(BURN.format("idle0")).replace("<fan_speed>N/A", "<fan_speed>ERR!", 1)

    result = measure(text)

    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 1}
    assert problems(result, "gpu-ecc") == [("gpu0", ERROR)]
    assert values(result, "gpu-ecc", "gpu1")["volatile_uncorrectable"] == 0


def test_a_gpu_that_wants_a_reset_is_lost_and_still_says_why() -> None:
    text = shared(BURN.format("idle0")).replace("_action>None", "_action>Reset", 1)
    text = text.replace("<remapped_row_pending>No", "<remapped_row_pending>Yes", 1)

    result = measure(text)

    assert values(result, "gpu-present")["gpus_lost"] == 1
    assert values(result, "gpu-ecc", "gpu0")["remap_pending"] is True


def test_gpus_are_numbered_by_their_pci_address_even_when_one_is_gone() -> None:
    result = measure(shared(BURN.format("idle0")), pci("0000:00:05.0", "0000:00:06.0", "0000:00:07.0"))

    assert values(result, "gpu-pcie-width", "gpu2")["width"] == 16
    assert problems(result, "gpu-pcie-width") == [("gpu0", MISSING)]
    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 1}


def test_two_gpus_at_one_pci_address_are_no_report_to_trust() -> None:
    text = shared(BURN.format("idle0")).replace("00:07.0", "00:06.0")

    result = measure(text)

    assert result.facts == ()
    assert {one.kind for one in result.problems} == {UNREADABLE}


def test_evidence_shows_the_lines_that_were_read_and_no_process_name() -> None:
    (evidence,) = measure(shared(BURN.format("load0")), JOB).evidence

    assert "<gpu_temp>59 C</gpu_temp>" in evidence.text
    assert "python3" not in evidence.text
    assert len(evidence.text) < 16_000


def test_a_report_in_plain_text_will_do_where_a_capture_holds_only_that() -> None:
    text = shared("captures/h200x2/nvidia-smi-q.txt")

    result = GPU.run(FakeSource(commands={"nvidia-smi -q": text}, absent=NOT_CAPTURED), ProbeContext())

    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 0}
    assert values(result, "gpu-pcie-width", "gpu1") == {"width": 16, "width_max": 16}


def test_the_probe_covers_the_items_it_sends() -> None:
    commands: dict[str, Answer] = {
        SMI: shared(BURN.format("idle0")),
        "nvidia-smi nvlink -s": shared("captures/h200x2-burn/commands/nvlink-s.idle0"),
        "nvidia-smi nvlink -e": shared("captures/h200x2-burn/commands/nvlink-e.idle0"),
    }

    result = GPU.run(FakeSource(commands=commands), ProbeContext())

    assert {one.item for one in result.facts} == set(GPU.items)
