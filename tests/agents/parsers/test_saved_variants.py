"""Outputs of other versions and other hardware than the saved cases: dcgmi, the kernel's log, lspci, NVLink, RDMA."""

from __future__ import annotations

import json

import pytest

from readiness_agent.parsers.kernel_log import parse_kernel_log
from readiness_agent.parsers.kinds import DETAILS
from readiness_agent.parsers.nvidia_smi_text import parse_smi_text
from tests.agents.parsers.saved_outputs import complaints, facts, read

DIAG, LOG, LSPCI, LINKS = "dcgmi diag -j", "dmesg/kmsg", "lspci -vv", "nvlink -s"


def diagnostic(*results: dict[str, object], **root: object) -> str:
    """One test of memory in the schema of DCGM 3 and 4."""
    tests = [{"name": "memory", "results": [*results]}]
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": tests}], **root}})


def test_gpus_that_fail_a_diagnostic_are_named_in_their_order() -> None:
    results = [
        {"entity_group": "GPU", "entity_id": gpu, "status": "Fail" if gpu in (10, 2) else "Pass"} for gpu in range(12)
    ]

    assert facts(read(DIAG, diagnostic(*results)), "memory")["failed_gpus"] == "2 10"


def test_a_diagnostic_that_was_left_out_is_skipped_and_not_passed() -> None:
    saved = read(DIAG, diagnostic({"status": "Not Run"}))

    assert (facts(saved)["skipped"], facts(saved)["passed"]) == (1, 0)
    assert "no test was run" in complaints(saved)


def test_versions_of_dcgm_3_stand_beside_its_tests() -> None:
    text = diagnostic({"status": "Pass"}, version="3.1.8", **{"Driver Version Detected": "535.104.05"})

    assert facts(read(DIAG, text))["dcgm_version"] == "3.1.8"
    assert facts(read(DIAG, text))["driver_version"] == "535.104.05"


def test_a_diagnostic_that_could_not_run_says_why() -> None:
    saved = read(DIAG, json.dumps({"DCGM Diagnostic": {"test_categories": [], "runtime_error": "The GPU is in use"}}))

    assert "The GPU is in use" in complaints(saved)


def test_lines_before_the_json_of_dcgmi_are_passed_over() -> None:
    assert facts(read(DIAG, "Running for group 0\n" + diagnostic({"status": "Pass"})))["passed"] == 1


def test_health_in_json_names_the_gpu_the_system_and_what_is_wrong() -> None:
    system = {"Memory system": {"value": "Failure", "children": {"info": {"value": "A row could not be remapped"}}}}
    gpu = {"value": "Failure", "children": {"Errors": {"children": system}}}
    body = {"Overall Health": {"value": "Failure"}, "GPU": {"children": {"5": gpu}}}

    saved = read("dcgmi health", json.dumps({"body": body, "header": ["Health Monitor Report"]}))

    assert facts(saved) == {"overall_health": "Failure", "failing_systems": "Memory"}
    assert facts(saved, "gpu5") == {"health": "Failure"}
    assert "gpu5: A row could not be remapped" in complaints(saved)


def test_a_switch_in_the_table_of_health_is_no_gpu() -> None:
    rows = ("Overall Health|Failure", "NvSwitch|", "-> 9|Failure", "   -> Errors|", "      -> NvSwitch system|Failure")
    text = "".join("| {:<25} | {:<40} |\n".format(*row.split("|")) for row in (*rows, "|A fatal error on link 3"))

    saved = read("dcgmi health", text)

    assert facts(saved) == {"overall_health": "Failure", "failing_systems": "NvSwitch"}
    assert facts(saved, "nvswitch9") == {"health": "Failure"}
    assert complaints(saved) == "nvswitch9: A fatal error on link 3"


def test_a_link_that_is_down_at_a_switch_is_told() -> None:
    text = "GPUs:\n    gpuId 0:\n        U U\nNvSwitches:\n    physicalId 9:\n        U X D\n"

    saved = read("dcgmi nvlink -s", text)

    assert facts(saved, "nvswitch9")["down_links"] == "2"
    assert facts(saved, "gpu0")["links_up"] == 2


XID = "NVRM: Xid (PCI:0000:3b:00): 63, pid=1234, name=python3, Row Remapper: New row marked for remapping"


@pytest.mark.parametrize(
    ("line", "after_boot", "unix"),
    [
        ("2024-03-05T11:20:31+0100 gpu07 kernel: ", None, 1709634031.0),
        ("2024-03-05T11:20:31.250000+01:00 gpu07 kernel: ", None, 1709634031.25),
        ("2024-03-05T10:20:31Z gpu07 kernel: ", None, 1709634031.0),
        ("Mar  5 11:20:31 gpu07 kernel: [12345.678901] ", 12345.678901, None),
        ("<4>Mar  5 11:20:31 gpu07 kernel: [    1.500000] ", 1.5, None),
    ],
)
def test_lines_of_the_journal_and_of_syslog_have_times(line: str, after_boot: float, unix: float) -> None:
    (record,) = parse_kernel_log(line + XID)

    assert (record.after_boot, record.unix, record.message) == (after_boot, unix, XID)


def test_times_without_a_year_tell_events_apart() -> None:
    times = ("Feb 29 11:20:31", "Feb 29 11:20:33", "Mar 01 09:00:00")
    text = "".join(f"{moment} gpu07 kernel: {XID}\n" for moment in times)

    assert facts(read(LOG, text), "0000:3b:00")["xids"] == "63 (2x)"


def test_a_journal_without_events_of_the_driver_is_a_log() -> None:
    saved = read(LOG, "Mar 05 11:20:31 gpu07 kernel: nvme nvme0: Shutdown timeout set to 8 seconds\n")

    assert (facts(saved)["gpus_with_xids"], saved.problems) == (0, ())


def test_processes_of_an_xid_are_told_once_with_their_name() -> None:
    text = "".join(
        f"[ 9.{place}] NVRM: Xid (PCI:0000:3b:00): 45, pid={process} Ch 8\n"
        for place, process in enumerate(
            ("77,", "77, name=python3,", "'<unknown>', name=<unknown>,", "8, name=nv-hostengine,")
        )
    )

    assert facts(read(LOG, text), "0000:3b:00")["processes"] == "python3[77] nv-hostengine[8]"


def test_events_of_a_switch_are_no_xids_and_a_nonfatal_one_is_not_fatal() -> None:
    text = (
        "[ 1.1] nvidia-nvswitch3: SXid (PCI:0000:83:00.0): 12028, Non-fatal, Link 32 egress error (First)\n"
        "[ 1.2] nvidia-nvswitch3: SXid (PCI:0000:83:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
        "[ 1.3] nvidia-nvswitch3: SXid (PCI:0000:83:00.0): 20034, Fatal, Link 31 LTSSM Fault Up\n"
    )

    saved = read(LOG, text)

    assert facts(saved, "0000:83:00") == {"sxids": "12028, 20034 (2x)", "fatal_sxids": "20034 (2x)"}
    assert (facts(saved)["nvswitches_with_sxids"], facts(saved)["gpus_with_xids"]) == (1, 0)


def test_a_gpu_that_the_driver_could_not_start_is_told() -> None:
    saved = read(LOG, "[ 5.0] NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x65:2392)\n")

    assert facts(saved, "0000:3b:00") == {"init_failures": 1}


def test_errors_of_amds_driver_are_counted() -> None:
    text = "[ 5.0] amdgpu 0000:c1:00.0: amdgpu: ring sdma0 timeout, signaled seq=1\n[ 5.1] amdgpu: Topology: Add dGPU\n"

    assert facts(read(LOG, text))["amdgpu_errors"] == 1


def lspci(status: str, kind: str = "3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)") -> str:
    return f"17:00.0 {kind}\n\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n{status}"


@pytest.mark.parametrize(
    ("status", "downgraded"),
    [
        ("Speed 16GT/s, Width x16, TrErr- Train-", True),
        ("Speed 32GT/s, Width x8, TrErr-", True),
        ("Speed 32GT/s, Width x16", False),
    ],
)
def test_an_lspci_that_marks_nothing_is_compared_with_what_the_device_could(status: str, downgraded: bool) -> None:
    saved = read(LSPCI, lspci(f"\t\tLnkSta:\t{status}\n"))

    assert facts(saved, "0000:17:00.0")["downgraded"] is downgraded
    assert facts(saved)["gpus_downgraded"] == int(downgraded)


def test_a_gpu_without_a_link_is_not_said_to_be_in_order() -> None:
    saved = read(LSPCI, lspci("\tCapabilities: <access denied>\n"))

    assert "downgraded" not in facts(saved, "0000:17:00.0")
    assert "shows no link" in complaints(saved)


def test_an_accelerator_of_amd_is_a_gpu() -> None:
    kind = "Processing accelerators: Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X]"

    assert facts(read(LSPCI, lspci("\t\tLnkSta:\tSpeed 32GT/s, Width x16\n", kind)))["gpus"] == 1


def test_a_link_in_an_unknown_state_is_neither_up_nor_left_out() -> None:
    saved = read(LINKS, "GPU 0: NVIDIA GB200 (UUID: GPU-aa)\n\t Link 0: 50 GB/s\n\t Link 1: N/A\n")

    assert facts(saved, "gpu0") == {"supported": True}
    assert "not all told" in complaints(saved)


def test_counters_that_are_not_available_are_no_zeros() -> None:
    saved = read(
        "nvlink -e", "GPU 0: NVIDIA H200 (UUID: GPU-aa)\n\t Link 0: Replay Errors: N/A\n\t Link 0: CRC Errors: N/A\n"
    )

    assert saved.facts == ()
    assert "gpu0" in complaints(saved)


def test_a_table_whose_halves_disagree_states_no_pair() -> None:
    saved = read("topo -m", "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-23\nGPU1\tSYS\t X \t0-23\n")

    assert facts(saved) == {"gpus": 2, "nics": 0}
    assert "not symmetric" in complaints(saved)


def test_banks_left_for_remapping_are_told_by_their_state() -> None:
    lines = [f"            {name:<30}: {count} bank(s)" for name, count in
             (("Max", 630), ("High", 5), ("Partial", 3), ("Low", 1), ("None", 1))]  # fmt: skip
    text = (
        "GPU 00000000:3B:00.0\n    Remapped Rows\n        Bank Remap Availability Histogram\n" + "\n".join(lines) + "\n"
    )

    found = facts(DETAILS["nvidia-smi -q"](text), "gpu0")

    assert [found[f"remap_banks_{name}"] for name in ("max", "high", "partial", "low", "none")] == [630, 5, 3, 1, 1]


def test_a_rate_with_the_name_of_its_signalling_is_that_rate() -> None:
    text = "CA: 'mlx5_0'\nPort 1:\nState: Active\nPhysical state: LinkUp\nRate: 40 (FDR10)\nLink layer: InfiniBand\n"

    assert facts(read("ibstat", text), "mlx5_0/1")["rate"] == 40


def test_a_card_that_lacks_one_of_its_ports_was_cut() -> None:
    text = (
        "CA 'mlx5_0'\n\tNumber of ports: 2\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
    )

    assert "mlx5_0 has 2 ports" in complaints(read("ibstat", text))


def test_links_of_infiniband_name_their_subnet_before_their_state() -> None:
    text = (
        "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 13 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP \n"
        "1/1: mlx5_1/1: subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state DOWN physical_state POLLING \n"
    )

    saved = read("rdma link", text)

    assert facts(saved) == {"ports": 2, "ports_active": 1}
    assert facts(saved, "mlx5_1/1") == {"state": "DOWN", "physical_state": "POLLING"}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("rdma link", "link mlx5_0/1 state ACTIVE physical_state LINK_UP\nlink mlx5_1/1 state\n"),
        ("ibdev2netdev", "mlx5_0 port 1 ==> ib0 (Up)\nmlx5_1 port 1 ==> ib1\n"),
    ],
)
def test_a_port_that_is_not_told_in_full_is_named(kind: str, text: str) -> None:
    assert "mlx5_1" in complaints(read(kind, text))


def test_a_slower_generation_of_a_card_shows_in_lshca() -> None:
    text = (
        "  PCI_addr   |  RDMA  | Net | Numa | LnkStat | Link | Rate | LnkCapWidth | LnkStaWidth | HCA_Type\n"
        "0000:29:00.0 | mlx5_1 |     |  1   | actv    | RoCE | 200  |   x16 G5    | x16 G4 >!<  |  MT4129\n"
    )

    found = facts(read("lshca", text), "mlx5_1")

    assert (found["generation"], found["generation_max"], found["width"]) == (4, 5, 16)
    assert "netdev" not in found


def test_ports_of_two_devices_keep_their_own_addresses() -> None:
    port = "\t\tport:\t1\n\t\t\tstate:\t\t\t{}\n\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tlink_layer:\t\tEthernet\n"
    text = (
        "hca_id:\tmlx5_0\n" + port.format("PORT_ACTIVE (4)") + "\t\t\tGID[  3]:\t\t::ffff:10.0.0.1, RoCE v2\n"
        "hca_id:\tmlx5_1\n" + port.format("PORT_DOWN (1)") + "\t\t\tGID[  1]:\t\tfe80::e42:a1ff:fe00:2, RoCE v2\n"
    )  # fmt: skip

    saved = read("ibv_devinfo", text)

    up, down = facts(saved, "mlx5_0/1"), facts(saved, "mlx5_1/1")
    assert (up["state"], up["active_mtu"], up["best_gid_index"]) == ("PORT_ACTIVE", 4096, 3)
    assert (down["state"], "best_gid_index" in down) == ("PORT_DOWN", False)


def test_a_port_without_its_addresses_is_read_from_the_short_output() -> None:
    text = "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_INIT (2)\n\t\t\tlink_layer:\t\tInfiniBand\n"

    saved = read("ibv_devinfo", text)

    assert (facts(saved, "mlx5_0/1"), saved.problems) == ({"state": "PORT_INIT", "link_layer": "InfiniBand"}, ())


def test_recoveries_of_a_link_saturate_as_well() -> None:
    text = "/sys/class/infiniband/mlx5_1/ports/1/counters/link_error_recovery:255\n"

    assert "at least that often" in complaints(read("ib sysfs", text))


def test_a_volta_counts_single_and_double_bits() -> None:
    text = (
        "GPU 00000000:1A:00.0\n    ECC Errors\n        Volatile\n            Single Bit            \n"
        "                Device Memory       : 1\n                Total               : 4\n            Double Bit\n"
        "                Total               : 2\n        Aggregate\n            Double Bit\n"
        "                Total               : 9\n"
    )

    (gpu,) = parse_smi_text(text).gpus

    assert (gpu.volatile_correctable, gpu.volatile_uncorrectable) == (4, 2)


def test_a_rate_of_aznhc_in_an_unknown_unit_is_a_problem_and_no_rate() -> None:
    saved = read("nhc", "H2D_GPU_0: 440.5 Gbps\nH2D_GPU_1: 55200.0 MB/s\n")

    assert (facts(saved, "H2D_GPU_0"), facts(saved, "H2D_GPU_1")) == ({"rate": 440.5}, {})
    assert complaints(saved) == "H2D_GPU_1: MB/s is no unit that this parser knows"
