"""What each tool's output becomes: facts under the catalogue's names, problems, and remarks that nobody judges."""

import json

import pytest

from checks.adapters.reading import NodeOnFile, OtherHost, UnreadableOutput, WrongTool
from checks.adapters.tools import TOOLS
from tests.adapters import samples
from tests.adapters.samples import NODE, SAMPLES, component, diagnostic, problems, read, result, told
from tests.lab import our_catalogue


@pytest.mark.parametrize("tool", TOOLS)
def test_every_fact_has_a_name_and_a_unit_of_the_catalogue(tool: str) -> None:
    items = our_catalogue().items
    facts = read(tool, SAMPLES[tool]).facts

    assert [one for one in facts if items[one.item].facts[one.name].value != one.unit] == []
    assert bool(facts) == (tool != "perftest")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("other", TOOLS)
def test_the_output_of_another_tool_is_refused(tool: str, other: str) -> None:
    if tool == other:
        return
    with pytest.raises((WrongTool, UnreadableOutput)):
        read(tool, SAMPLES[other])


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_of_nothing_but_lines_is_refused_before_it_keeps_a_reader_busy(tool: str) -> None:
    with pytest.raises(UnreadableOutput, match="more than 100,000 lines"):
        read(tool, SAMPLES[tool] + "\n" * 100_001)


def test_a_diagnostic_tells_shares_of_memory_and_rates_of_copies_of_each_gpu() -> None:
    reading = read("dcgmi-diag", samples.DCGMI)

    assert told(reading, "gpu-memtest", "gpu2") == {"memory_share": 91.5, "errors": 0}
    assert told(reading, "gpu-peer-bandwidth", "gpu7") == {"host_to_device": 55.7}


def test_a_passed_stress_test_proves_no_minutes_of_load() -> None:
    reading = read("dcgmi-diag", samples.DCGMI)

    assert told(reading, "gpu-burn", "gpu0") == {}
    assert problems(reading, "gpu-burn") == [("not_captured", f"gpu{place}") for place in range(8)]


def test_what_a_diagnostic_skipped_was_not_tested() -> None:
    whys = {one.why for one in read("dcgmi-diag", samples.DCGMI).remarks if one.name == "memory_bandwidth"}

    assert whys == {"not_tested"}


def test_a_diagnostic_of_dcgm_3_names_the_gpu_without_persistence_and_the_one_with_bad_memory() -> None:
    reading = read("dcgmi-diag", samples.DCGMI_3)

    assert told(reading, "persistence-mode") == {"gpus_without_persistence": 1}
    assert told(reading, "gpu-memtest", "gpu2") == {"errors": 1}


def test_warnings_of_a_diagnostic_tell_errors_of_memory() -> None:
    text = diagnostic(
        samples.a_test(
            "software",
            result(1, "Fail", "", "Detected 4 volatile double-bit ECC error(s) in GPU 1."),
            result(2, "Fail", "", "GPU 2 has a row remapping failure."),
        )
    )
    reading = read("dcgmi-diag", text)

    assert told(reading, "gpu-ecc", "gpu1") == {"volatile_uncorrectable": 4}
    assert told(reading, "gpu-ecc", "gpu2") == {"remap_failed": True}


def test_a_copy_test_that_failed_in_one_direction_failed_whatever_rate_the_other_had() -> None:
    slow = "GPU to Host 2.10 GB/s did not exceed the minimum of 20.00 GB/s."
    text = diagnostic(samples.a_test("pcie", result(3, "Fail", "GPU 3 Host to GPU bandwidth:\t\t55.1 GB/s", slow)))
    reading = read("dcgmi-diag", text)

    assert told(reading, "gpu-peer-bandwidth", "gpu3") == {"host_to_device": 55.1}
    assert [(one.kind.value, one.subject, slow in one.detail) for one in reading.problems] == [("error", "gpu3", True)]


def test_a_gpu_that_the_node_does_not_have_is_named_and_not_judged() -> None:
    reading = read("dcgmi-diag", diagnostic(samples.a_test("memory", result(9, "Fail"))))

    assert (reading.facts, [one.why for one in reading.remarks]) == ([], ["no_part"])


@pytest.mark.parametrize("text", [samples.DCGMI[:-300], '{"DCGM Diagnostic": []}', '{"DCGM Diagnostic": {"test_cat'])
def test_a_diagnostic_that_was_cut_or_bent_is_not_believed(text: str) -> None:
    with pytest.raises(UnreadableOutput):
        read("dcgmi-diag", text)


def test_an_all_reduce_on_the_node_gives_the_figure_at_the_largest_size() -> None:
    assert told(read("nccl-tests", samples.NCCL), "allreduce-node") == {
        "busbw": 481.02, "message_size": 17179869184, "wrong": 0, "gpus": 8,
    }  # fmt: skip


def test_ranks_of_another_host_are_refused() -> None:
    with pytest.raises(OtherHost, match="gpu044"):
        read("nccl-tests", samples.NCCL.replace("gpu001", "gpu044"))


def test_an_all_reduce_over_two_hosts_proves_nothing_about_one_of_them() -> None:
    reading = read("nccl-tests", samples.NCCL.replace("Pid   917 on     gpu001", "Pid   917 on     gpu002"))

    assert told(reading, "allreduce-node") == {"wrong": 0}
    assert problems(reading, "allreduce-node") == [("not_captured", "")]


def test_another_operation_is_no_all_reduce_though_it_prints_the_same_table() -> None:
    text = samples.NCCL.replace("272.17  476.30", "272.17  238.15").replace("274.87  481.02", "274.87  240.51")

    assert "busbw" not in told(read("nccl-tests", text), "allreduce-node")


def test_wrong_values_count_whatever_the_operation_was() -> None:
    text = samples.NCCL.replace("481.02      0", "481.02     17").replace("     sum ", "         ")
    text = text.replace("Out of bounds values : 0 OK", "Out of bounds values : 17 FAILED")

    assert told(read("nccl-tests", text), "allreduce-node")["wrong"] == 17


def test_fio_tells_rates_time_and_how_much_it_read_from() -> None:
    reading = read("fio", samples.FIO)

    assert told(reading, "nvme-fio") == {
        "read_bandwidth": 16.2, "read_iops": 123600.5, "direct": True, "duration": 300.0, "size": 171798691840,
    }  # fmt: skip
    assert reading.stated_at is not None
    assert reading.stated_at.isoformat() == "2026-11-30T11:58:00+00:00"


@pytest.mark.parametrize(("old", "new"), [("randread", "randrw"), ("128k", "4k")])
def test_another_workload_of_fio_proves_nothing_for_good_or_bad(old: str, new: str) -> None:
    reading = read("fio", samples.FIO.replace(f'"{old}"', f'"{new}"'))

    assert told(reading, "nvme-fio") == {}
    assert problems(reading, "nvme-fio") == [("not_captured", "")]


def test_the_text_of_fio_3_tells_its_workload_in_its_first_line() -> None:
    text = """read: (g=0): rw=randread, bs=(R) 128KiB-128KiB, (W) 128KiB-128KiB, ioengine=libaio, iodepth=32
fio-3.36
read: (groupid=0, jobs=16): err= 0: pid=77: Mon Nov 30 11:58:00 2026
  read: IOPS=98.1k, BW=12.0GiB/s (12.9GB/s)(3600GiB/300012msec)
"""
    reading = read("fio", text)

    assert told(reading, "nvme-fio") == {"read_bandwidth": 12.884901888, "read_iops": 98100, "duration": 300.012}
    assert reading.stated_at is None  # a time without a zone


def test_an_error_of_fio_is_told_though_its_report_cannot_be_read() -> None:
    text = 'fio: pid=9, err=5/file:io_u.c:1, func=io_u error, error=Input/output error\n{ "fio version"'

    assert problems(read("fio", text), "nvme-fio")[0] == ("error", "")


def test_a_run_of_perftest_is_named_and_judged_by_nobody() -> None:
    remarks = {one.name: (one.value, one.why) for one in read("perftest", samples.PERFTEST).remarks}

    assert remarks["average"] == ("391.77 Gb/s", "not_a_nodes")


def test_the_json_of_perftest_is_read_and_its_missing_unit_is_said() -> None:
    remarks = {one.name: (one.value, one.why) for one in read("perftest", samples.PERFTEST_JSON).remarks}

    assert remarks["average"] == ("391.77", "no_unit")


def test_a_port_that_is_down_is_a_fact_about_its_card() -> None:
    text = samples.PERFTEST.partition(" #bytes")[0] + " Port number 1 state is Down\n Couldn't set the link layer\n"

    assert told(read("perftest", text), "rdma-link", "nic1") == {"state": "DOWN"}


def test_healthy_of_gpud_proves_no_figure_and_its_data_do() -> None:
    reading = read("gpud", samples.GPUD)

    assert told(reading, "gpu-ecc", "gpu5") == {
        "ecc_enabled": True, "volatile_uncorrectable": 0, "volatile_correctable": 0,
    }  # fmt: skip
    assert told(reading, "persistence-mode") == {"gpus_without_persistence": 0}
    assert problems(reading, "rdma-link") == []
    whys = {one.name: one.why for one in reading.remarks}
    assert whys == {"cpu": "no_item", "accelerator-nvidia-infiniband": "no_figure"}


def test_gpud_tells_uncorrectable_errors_of_the_gpu_that_has_them() -> None:
    text = json.dumps([component("accelerator-nvidia-ecc", "Unhealthy", "ecc", samples.ecc_of(3))])
    reading = read("gpud", text)

    assert told(reading, "gpu-ecc", "gpu5")["volatile_uncorrectable"] == 3
    assert problems(reading, "gpu-ecc") == [("error", "")]


def test_gpud_that_lists_seven_of_eight_gpus_proves_persistence_of_none() -> None:
    seven = {"persistence_modes": samples.modes_of()["persistence_modes"][:7]}
    text = json.dumps([component("accelerator-nvidia-persistence-mode", "Healthy", "all on", seven)])

    assert read("gpud", text).facts == []


def test_an_xid_that_gpud_calls_unhealthy_is_a_fact_and_a_cured_one_is_none() -> None:
    for health, expected in (("Unhealthy", {"xids": "79"}), ("Healthy", {})):
        text = json.dumps([component("accelerator-nvidia-error-xid", health, "XID 79 was detected")])
        assert told(read("gpud", text), "gpu-xid") == expected


def test_gpud_of_another_machine_is_refused() -> None:
    with pytest.raises(OtherHost):
        read("gpud", samples.GPUD, NodeOnFile("gpu002", 8, {"GPU-other": "gpu0"}))


def test_gpus_without_uuids_on_file_are_told_apart_by_their_place_on_the_bus() -> None:
    modes = [{"uuid": f"GPU-{place}", "bus_id": f"0000:{10 + place}:00.0", "enabled_current": place != 1}
             for place in (1, 0)]  # fmt: skip
    text = json.dumps([component("accelerator-nvidia-ecc", "Healthy", "2", {"ecc_modes": modes})])
    reading = read("gpud", text, NodeOnFile("gpu002", 2))

    assert told(reading, "gpu-ecc", "gpu1") == {"ecc_enabled": False}
    assert told(reading, "gpu-ecc", "gpu0") == {"ecc_enabled": True}


def test_a_failed_check_of_nhc_is_a_fact_where_it_holds_a_figure_and_leaves_its_item_open_else() -> None:
    reading = read("nhc", samples.NHC)

    assert told(reading, "gpu-ecc", "gpu6") == {"volatile_uncorrectable": 2, "aggregate_sram_uncorrectable": 3}
    assert problems(reading, "gpu-nvlink-links") == [("error", "gpu4")]
    assert [one.why for one in reading.remarks if one.name == "check_fs_mount"] == ["no_item"]


def test_figures_of_aznhc_are_facts_and_of_peers_the_slowest_counts() -> None:
    reading = read("nhc", samples.NHC)

    assert told(reading, "gpu-peer-bandwidth", "gpu0") == {"host_to_device": 55.4, "peer": 388.25}
    assert told(reading, "gpu-peer-bandwidth", "gpu1") == {"host_to_device": 31.2}


@pytest.mark.parametrize("unit", ["Gb/s", "Gbps"])
def test_bits_of_aznhc_are_no_bytes(unit: str) -> None:
    reading = read("nhc", f"H2D_GPU_0: 400.0 {unit}\nP2P_GPU_0_1: 3000.0 {unit}\nnccl_all_red: 3600 {unit}\n")

    assert told(reading, "gpu-peer-bandwidth", "gpu0") == {"host_to_device": 50.0, "peer": 375.0}
    assert told(reading, "allreduce-node") == {"busbw": 450.0}


@pytest.mark.parametrize("figure", ["H2D_GPU_0", "nccl_all_red", "P2P_GPU_0_2"])
def test_a_figure_of_aznhc_in_an_unknown_unit_is_a_remark(figure: str) -> None:
    reading = read("nhc", f"{figure}: 400.0 MB/s\n")

    assert (reading.facts, [(one.name, one.value, one.why) for one in reading.remarks]) == (
        [], [(figure, "400.0 MB/s", "no_figure")]
    )  # fmt: skip


def test_a_peer_in_an_unknown_unit_may_be_the_slowest() -> None:
    reading = read("nhc", samples.NHC.replace("388.25 GB/s", "388250 MB/s"))

    assert told(reading, "gpu-peer-bandwidth", "gpu0") == {"host_to_device": 55.4}
    assert problems(reading, "gpu-peer-bandwidth") == [("not_captured", "gpu0")]


@pytest.mark.parametrize(
    ("line", "item", "subject", "facts"),
    [
        ("check_gpu_count: Expected to see 8 but found 6. FaultCode: NHC2009", "gpu-present", "", {"gpus_visible": 6}),
        ("check_gpu_xid: GPU Xid errors detected: NVRM: Xid (PCI:0000:8a:00): 79", "gpu-xid", "", {"xids": "79"}),
        ("check_gpu_ecc: GPU id 1: Row remap pending. FaultCode: NHC2007", "gpu-ecc", "gpu1", {"remap_pending": True}),
        ("check_gpu_bw: H2D test on GPU 2 failed. Bandwidth 11.5 is less than 48", "gpu-peer-bandwidth", "gpu2",
         {"host_to_device": 11.5}),
        ("check_nccl_allreduce: NCCL allreduce, BUS BW (expected >=460 GB/s, but measured 201.5 GB/s)",
         "allreduce-node", "", {"busbw": 201.5}),
    ],
)  # fmt: skip
def test_lines_of_nhc_that_hold_a_figure(line: str, item: str, subject: str, facts: dict[str, object]) -> None:
    reading = read("nhc", f"ERROR:  nhc:  Health check failed:  {line}\n")

    assert told(reading, item, subject) == facts
    assert ("error", subject) in problems(reading, item)


def test_a_reason_of_a_drained_node_is_a_line_of_nhc_too() -> None:
    reading = read("nhc", "gpu001 Reason=NHC: check_hw_ib: No IB port mlx5_1 is ACTIVE (LinkUp 400 Gb/sec)\n")

    assert problems(reading, "rdma-link") == [("error", "nic1")]


def test_lines_of_other_hosts_are_named_and_a_file_of_other_hosts_alone_is_refused() -> None:
    failed = "gpu001 | ERROR:  nhc:  Health check failed:  check_gpu_count: Expected to see 8 but found 7\n"
    reading = read("nhc", failed + "gpu002 | Healthy\n")

    assert told(reading, "gpu-present") == {"gpus_visible": 7}
    assert [(one.name, one.why) for one in reading.remarks] == [("gpu002", "other_node")]
    with pytest.raises(OtherHost, match="gpu002"):
        read("nhc", "gpu002 | Healthy\n")


def test_healthy_of_nhc_proves_nothing() -> None:
    reading = read("nhc", "gpu001 | Healthy\n")

    assert (reading.facts, reading.problems, [one.why for one in reading.remarks]) == ([], [], ["no_figure"])


def test_signals_of_health_validation_are_facts_and_its_verdicts_are_none() -> None:
    reading = read("nvidia-health-validation", samples.VERDICT)

    assert told(reading, "gpu-present") == {"gpus_visible": 7}
    assert told(reading, "gpu-nvlink-links", "gpu0") == {"links_up": 18, "link_speed_min": 26.562}
    assert told(reading, "gpu-xid", "gpu2") == {"xids": "79"}
    assert problems(reading, "gpu-fabric") == []
    whys = {one.name: one.why for one in reading.remarks}
    assert whys == {"cpu_count": "no_item", "nvlink_fabric_health": "not_tested"}


def test_a_verdict_about_another_node_is_refused() -> None:
    with pytest.raises(OtherHost, match="gpu009"):
        read("nvidia-health-validation", samples.VERDICT.replace("gpu001", "gpu009"))


def test_superbench_tells_how_long_it_burned_and_which_gpu_computed_wrong() -> None:
    reading = read("superbench", samples.SUPERBENCH)

    assert told(reading, "gpu-burn", "gpu0") == {"checksums_equal": True, "duration": 120.0}
    assert told(reading, "gpu-burn", "gpu3") == {"checksums_equal": False, "duration": 120.0}


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("read_by", "read;by"), ("gpu-copy-bw:perf/gpu0_to_gpu2", "gpv-copy-bw:x/gpu0_to_gpu2"),
        ("gpu0_to_gpu2", "gpu0Qto_gpu2"),
    ],
)  # fmt: skip
def test_a_copy_of_superbench_with_a_damaged_name_leaves_no_gpu_to_pass_by_the_others(was: str, is_now: str) -> None:
    assert was in samples.SUPERBENCH

    reading = read("superbench", samples.SUPERBENCH.replace(was, is_now))

    assert ("not_captured", "gpu0") in problems(reading, "gpu-peer-bandwidth")


def test_superbench_tells_rates_at_the_largest_size_and_of_the_nearest_memory() -> None:
    reading = read("superbench", samples.SUPERBENCH)

    assert told(reading, "allreduce-node") == {"busbw": 479.5, "message_size": 17179869184}
    assert told(reading, "gpu-peer-bandwidth", "gpu0") == {"host_to_device": 55.2, "peer": 389.5}
    assert {one.name: one.why for one in reading.remarks} == {
        "gpu002": "other_node", "disk-benchmark": "no_item", "kernel-launch/event_time": "no_item",
    }  # fmt: skip


def test_a_summary_with_two_runs_of_the_node_is_refused() -> None:
    with pytest.raises(UnreadableOutput, match="2 times"):
        read("superbench", f"{SAMPLES['superbench'].strip()}\n{SAMPLES['superbench']}")


def test_a_benchmark_that_did_not_work_says_nothing_of_its_numbers() -> None:
    text = samples.SUPERBENCH.replace('"nccl-bw:nvlink/return_code": 0', '"nccl-bw:nvlink/return_code": 3')
    reading = read("superbench", text)

    assert told(reading, "allreduce-node") == {}
    assert problems(reading, "allreduce-node") == [("error", "")]


@pytest.mark.parametrize(
    ("host", "ours"),
    [("gpu001", True), ("GPU001", True), ("gpu001.cluster.example", True), ("localhost", True), ("", True),
     ("gpu0011", False), ("gpu01", False), ("example.gpu001", False)],
)  # fmt: skip
def test_names_of_the_node(host: str, ours: bool) -> None:
    assert NODE.is_called(host) is ours


def test_two_domains_are_two_machines() -> None:
    assert not NodeOnFile("gpu001.a.example", 8).is_called("gpu001.b.example")
