"""Saved outputs about GPUs: topology, queries, the table, links, the kernel's log, lspci and DCGM."""

from __future__ import annotations

import pytest

from tests.agents.parsers.inputs import shared
from tests.agents.parsers.saved_outputs import case, complaints, facts, read

TOPO, CSV, TABLE, LINKS, LOG = "topo -m", "nvidia-smi query csv", "nvidia-smi table", "nvlink -s", "dmesg/kmsg"
DIAG, NVLINK_ERRORS, HEALTH = "dcgmi diag -j", "dcgmi -j", "dcgmi health"


def test_one_gpu_and_no_card_in_a_file_with_terminal_escapes() -> None:
    saved = case(TOPO, "topo/h100_1gpu_ansi_topo.txt")

    assert facts(saved) == {"gpus": 1, "nics": 0, "gpu_pairs": 0, "gpu_pairs_nvlink": 0, "gpu_pairs_sys": 0}
    assert facts(saved, "gpu0") == {"cpu_affinity": "0-19", "numa_node": 0}


def test_eight_gpus_all_linked_to_all_in_columns_of_blanks() -> None:
    saved = case(TOPO, "topo/a100_8gpu_spaces.txt")

    assert facts(saved) == {
        "gpus": 8, "nics": 0, "gpu_pairs": 28, "gpu_pairs_nvlink": 28, "gpu_pairs_sys": 0, "nvlinks_a_pair": "12",
        "nvlink_all_to_all": True,
    }  # fmt: skip
    assert facts(saved, "gpu3") == {"cpu_affinity": "0-23", "numa_node": 0}
    assert facts(saved, "gpu4") == {"cpu_affinity": "24-47", "numa_node": 1}


def test_each_gpu_has_its_card_and_the_order_is_reversed() -> None:
    saved = case(TOPO, "topo/h100_8gpu_9nic_tabs.txt")

    assert [facts(saved, f"gpu{place}")["nearest_nics"] for place in range(8)] == [
        "NIC8", "NIC7", "NIC6", "NIC5", "NIC4", "NIC3", "NIC2", "NIC1",
    ]  # fmt: skip
    assert facts(saved, "gpu0")["nearest_nic_path"] == "PIX"
    assert facts(saved)["nics"] == 9
    assert facts(saved)["nics_far_from_all_gpus"] == "NIC0"


def test_a_hybrid_mesh_has_pairs_without_a_link() -> None:
    saved = case(TOPO, "topo/v100_8gpu_hybrid_mesh.txt")

    assert (facts(saved)["gpu_pairs_sys"], facts(saved)["nvlink_all_to_all"]) == (12, False)
    assert facts(saved)["nvlinks_a_pair"] == "1 2"
    assert facts(saved, "gpu0")["nvlinks"] == 6


def test_rows_that_share_a_bus_address_are_not_eight_gpus() -> None:
    saved = case(CSV, "smi_csv/h100_8rows_dup_busid.csv")

    assert (facts(saved)["rows"], facts(saved)["distinct_bus_ids"]) == (8, 4)
    assert "gpus_visible" not in facts(saved)
    assert "0000:0a:00.0" in complaints(saved)


def test_units_in_cells_and_in_the_head_are_the_same_number() -> None:
    saved = case(CSV, "smi_csv/h100_busy_ok.csv")

    assert facts(saved, "gpu0") == {"temperature.gpu": 74, "utilization.gpu": 100, "memory.used": 80620}
    assert saved.problems == ()


def test_a_gpu_that_requires_a_reset_is_lost_although_a_cell_is_readable() -> None:
    saved = case(CSV, "smi_csv/h100_gpu_requires_reset.csv")

    assert facts(saved)["gpus_lost"] == 1
    assert facts(saved, "gpu0") == {"memory.used": 0}
    assert "GPU requires reset" in complaints(saved)


def test_two_h200_by_a_query() -> None:
    saved = read(CSV, shared("captures/h200x2-burn/commands/smi-query.load0.csv"))

    assert (facts(saved)["rows"], facts(saved)["gpus_lost"]) == (2, 0)
    assert facts(saved, "gpu1")["temperature.gpu"] == 67
    assert facts(saved, "gpu0")["power.draw"] == 691.68
    assert facts(saved, "gpu0")["clocks_event_reasons.active"] == "0x0000000000000004"


def test_an_err_cell_of_the_table_is_a_lost_gpu_and_ecc_off_is_not_zero_errors() -> None:
    saved = case(TABLE, "smi_table/rtx4000ada_err_fan.txt")

    assert facts(saved) == {"gpus_shown": 2, "gpus_lost": 1}
    assert facts(saved, "gpu13") == {
        "bus_id": "0000:c9:00.0", "persistence": True, "ecc_enabled": False, "temperature": 33, "performance": "P8",
        "power": 4, "power_cap": 130, "memory_used": 1, "memory_total": 20475, "utilization": 0,
        "compute_mode": "Default", "fan": 30,
    }  # fmt: skip
    assert (facts(saved, "gpu14")["utilization"], facts(saved, "gpu14")["memory_used"]) == (93, 1)
    assert "fan" not in facts(saved, "gpu14")
    assert "ERR!" in complaints(saved)


def test_the_table_of_two_h200() -> None:
    saved = read(TABLE, shared("captures/h200x2/nvidia-smi.txt"))

    assert facts(saved) == {"gpus_shown": 2, "gpus_lost": 0, "driver_version": "580.159.04", "cuda_version": "13.0"}
    assert facts(saved, "gpu1")["memory_total"] == 143771


def test_links_of_eight_gpus() -> None:
    saved = case(LINKS, "nvlink/a100_8gpu_nvlink_s.txt")

    assert facts(saved, "gpu7") == {"supported": True, "links_up": 12, "links": 12, "link_speed_min": 25.0}


def test_inactive_links_are_named() -> None:
    saved = case(LINKS, "nvlink/v100_gpu3_links_inactive.txt")

    assert facts(saved, "gpu3")["inactive_links"] == "3 5"
    assert (facts(saved, "gpu3")["links_up"], facts(saved, "gpu3")["links"]) == (4, 6)


def test_a_card_without_nvlink_and_a_list_that_was_cut() -> None:
    absent, cut = case(LINKS, "nvlink/rtx4080s_nvlink_s.txt"), case(LINKS, "nvlink/gb200_mock_nvlink_s.txt")

    assert facts(absent, "gpu0") == {"supported": False}
    assert facts(cut, "gpu0")["links_up"] == 18
    assert facts(cut, "gpu1") == {"supported": True}
    assert "gpu1" in complaints(cut)


@pytest.mark.parametrize("kind", ["nvlink -e", "nvidia-smi nvlink -e"])
def test_errors_of_links(kind: str) -> None:
    saved = read(kind, shared("captures/h200x2/nvlink-e.txt"))

    assert facts(saved, "gpu1") == {"replay_errors": 0, "recovery_errors": 0, "crc_errors": 0}


def test_events_of_each_gpu_by_its_address() -> None:
    saved = case(LOG, "dmesg/xid13_109_ctime.log")

    assert facts(saved, "0000:cb:00") == {
        "xids": "13, 109", "nonfatal_xids": "none", "xid_lines": "13:3 109:1", "off_bus": False,
        "recovery_action": "None", "processes": "pt_main_thread[1797828]",
    }  # fmt: skip
    assert facts(saved)["peermem_warnings"] == 1


def test_kills_for_want_of_memory_beside_events_of_an_application() -> None:
    saved = case(LOG, "dmesg/oom_iso.log")

    assert facts(saved, "0000:38:00")["xid_lines"] == "13:16 43:1"
    assert (facts(saved)["memcg_oom_kills"], facts(saved)["global_oom_kills"]) == (2, 4)
    assert facts(saved)["oom_reaped"] == 1


def test_a_log_without_events_of_the_driver() -> None:
    saved = case(LOG, "dmesg/kmsg_peermem_invalid_context.log")

    assert facts(saved) == {"lines": 8, "gpus_with_xids": 0, "gpus_off_bus": 0, "peermem_warnings": 7}


def test_recovery_actions_of_four_gpus() -> None:
    saved = case(LOG, "dmesg/gb200_nvlink_xid149_154.log")

    assert facts(saved)["gpus_with_xids"] == 4
    assert facts(saved, "0009:01:00")["recovery_action"] == "Drain and Reset"
    assert facts(saved, "0018:01:00")["recovery_action"] == "GPU Reset Required"


def test_a_gpu_off_the_bus_has_no_number() -> None:
    saved = case(LOG, "dmesg/fallen_off_bus_no_xid.log")

    assert facts(saved, "0000:b3:00")["off_bus"] is True
    assert facts(saved, "0000:b3:00")["xids"] == "none"


@pytest.mark.parametrize("name", ["h100_8gpu_reduced.txt", "h100_8gpu_full_lspci_vvv.txt"])
def test_gpus_of_lspci_are_told_apart_from_other_downgraded_links(name: str) -> None:
    saved = case("lspci -vv", f"lspci/{name}")

    assert (facts(saved)["gpus"], facts(saved)["downgraded"], facts(saved)["gpus_downgraded"]) == (8, 16, 0)
    assert facts(saved, "0000:19:00.0")["generation"] == 5
    assert facts(saved)["nvswitches"] == 4
    assert (facts(saved, "0000:83:00.0")["width"], facts(saved, "0000:83:00.0")["generation"]) == (2, 4)
    assert facts(saved, "0000:db:00.0")["width"] == 16


def test_a_card_that_shows_no_link_is_named() -> None:
    saved = case("lspci -vv", "lspci/t4_azure.txt")

    assert facts(saved, "0001:00:00.0")["generation_max"] == 3
    assert "c93f:00:02.0" in complaints(saved)


def test_an_excerpt_of_lspci_without_an_address() -> None:
    saved = case("lspci -vv", "lspci/rtx4090_gen1_x16.txt")

    assert (facts(saved)["width"], facts(saved)["generation"], facts(saved)["generation_max"]) == (16, 1, 4)


def test_a_failed_software_test_of_dcgm_4_is_a_matter_of_settings() -> None:
    saved = case(DIAG, "dcgm/gb10-level1.json")

    assert facts(saved) == {
        "dcgm_version": "4.2.3", "driver_version": "580.82.09", "tests": 1, "passed": 0, "failed": 1, "warned": 0,
        "skipped": 0, "failed_configuration": 1, "failed_hardware": 0,
    }  # fmt: skip
    assert facts(saved, "software") == {
        "status": "Fail", "category": "Deployment", "failed_gpus": "0", "error_id": 29, "error_category": 8,
        "error_severity": 5,
    }  # fmt: skip
    assert "Persistence mode for GPU 0 is disabled" in complaints(saved)


def test_memory_and_pcie_of_dcgm_4() -> None:
    saved = case(DIAG, "dcgm/gb10-level2-plugins-allowed.json")

    assert (facts(saved)["passed"], facts(saved)["failed"], facts(saved)["failed_hardware"]) == (2, 1, 0)
    assert facts(saved, "memory")["memory_tested"] == 112427837082
    assert facts(saved, "memory")["memory_share"] == 87.5
    assert facts(saved, "pcie")["gpu_to_host"] == 58.62
    assert facts(saved, "pcie")["host_to_gpu"] == 58.88


def test_nine_passed_tests_of_dcgm_3() -> None:
    assert facts(case(DIAG, "dcgm/vc_DCGMIDiag_r1_results.json"))["passed"] == 9


def test_a_report_of_another_shape_is_a_problem_and_its_failures_are_kept() -> None:
    saved = case(DIAG, "dcgm/vc_DCGMIIncorrectresults.json")

    assert "passed" not in facts(saved)
    assert facts(saved, "CUDA Main Library")["status"] == "Fail"
    assert "list" in complaints(saved)


@pytest.mark.parametrize("kind", [DIAG, NVLINK_ERRORS])
def test_counts_of_passes_warnings_and_failures(kind: str) -> None:
    found = facts(case(kind, "dcgm/gcm_diag_fail.json"))

    assert (found["failed"], found["warned"], found["passed"], found["skipped"]) == (1, 1, 7, 0)


def test_errors_of_one_link_among_zeros() -> None:
    saved = case(NVLINK_ERRORS, "dcgm/gcm_nvlink_errors.json")

    assert facts(saved, "gpu0 link 0") == {
        "crc_data_errors": 12, "crc_flit_errors": 0, "recovery_errors": 0, "replay_errors": 0,
    }  # fmt: skip
    assert facts(saved, "gpu0 link 1")["crc_data_errors"] == 0


@pytest.mark.parametrize("kind", [DIAG, NVLINK_ERRORS, HEALTH])
def test_overall_health_in_json(kind: str) -> None:
    assert facts(case(kind, "dcgm/vc_DCGMIHealthCheckResults.json")) == {"overall_health": "Healthy"}


def test_health_as_a_table_names_the_system_that_fails() -> None:
    saved = case(HEALTH, "dcgm/health_nvlink_false_positive_a100_pcie.txt")

    assert facts(saved) == {"overall_health": "Failure", "failing_systems": "NVLINK"}
    assert facts(saved, "gpu0") == {"health": "Failure"}
    assert "link 0 is currently down" in complaints(saved)


def test_events_of_a_preflight_job_fail_by_their_summary() -> None:
    saved = case("preflight json lines", "dcgm/nvsentinel_preflight_events.jsonl")

    assert facts(saved) == {"tests": 6, "passed": 0, "failed": 2, "warned": 2, "skipped": 2, "warning_codes": "29"}
    assert "2 of 6 tests failed" in complaints(saved)


DCGMI_NVLINK = """+----------------------+
|  NvLink Link Status  |
+----------------------+
GPUs:
    gpuId 0:
        U U U U U U U U U U U U U U U U U U
    gpuId 1:
        U U U D U U U U U U U U U U U U U X
NvSwitches:
    No NvSwitches found.

Key: Up=U, Down=D, Disabled=X, Not Supported=_
"""


def test_link_states_of_dcgmi_are_letters() -> None:
    saved = read("dcgmi nvlink -s", DCGMI_NVLINK)

    assert facts(saved, "gpu0") == {"links": 18, "links_up": 18, "links_down": 0, "links_disabled": 0}
    assert facts(saved, "gpu1") == {
        "links": 18, "links_up": 16, "links_down": 1, "links_disabled": 1, "down_links": "3",
    }  # fmt: skip


def test_links_that_are_not_supported_are_no_links() -> None:
    saved = read("dcgmi nvlink -s", DCGMI_NVLINK.replace("U U U D", "_ _ _ _"))

    assert facts(saved, "gpu1")["links"] == 14


@pytest.mark.parametrize(
    "kind", [TOPO, CSV, TABLE, LINKS, LOG, DIAG, NVLINK_ERRORS, HEALTH, "lspci -vv", "dcgmi nvlink -s"]
)
@pytest.mark.parametrize("text", ["", "bash: nvidia-smi: command not found\n", "{", "[]", "null\n"])
def test_a_text_of_another_kind_has_no_facts_and_a_problem(kind: str, text: str) -> None:
    saved = read(kind, text)

    assert saved.problems
    assert not [one for one in saved.facts if one.value and one.name != "lines"]
