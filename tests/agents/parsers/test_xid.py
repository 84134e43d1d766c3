"""Driver events in the kernel's log: which GPU, which number, how often, and what the driver asks for."""

from __future__ import annotations

from readiness_agent.parsers.kernel_log import parse_kernel_log
from readiness_agent.parsers.xid import GpuEvents, gpu_events
from tests.agents.parsers.inputs import shared

ACTION = "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from"


def events(text: str) -> dict[str, GpuEvents]:
    return gpu_events(parse_kernel_log(text))


def case(name: str) -> dict[str, GpuEvents]:
    return events(shared(f"cases/dmesg/{name}"))


def test_a_gsp_that_times_out_again_and_again_with_history_and_trace_is_counted_each_time() -> None:
    # 16:24:18, :24 and :30, 16:27:12, 16:30:13
    (one,) = case("xid119_gsp_timeout.log").values()

    assert (one.address, one.counts) == ("0000:9b:00", {119: 5})
    assert one.lines == {119: 5}


def test_a_nonfatal_link_event_and_a_fatal_one_of_the_same_number_are_two() -> None:
    link = "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT "

    (one,) = events(f"[ 3.0] {link} Nonfatal  XC0 i0 Link 01\n[ 4.0] {link} Fatal  XC0 i0 Link 01\n").values()

    assert (one.counts, one.nonfatal_counts) == ({149: 1}, {149: 1})


def test_a_burst_of_one_number_in_one_second_is_one_event() -> None:
    found = case("xid13_109_ctime.log")

    assert {address: one.counts for address, one in found.items()} == {"0000:cb:00": {13: 1, 109: 1}}


def test_16_lines_of_one_fault_are_one_event_of_it() -> None:
    (one,) = case("oom_iso.log").values()

    assert one.counts == {13: 1, 43: 1}


def test_warnings_of_another_module_are_no_xid() -> None:
    assert case("kmsg_peermem_invalid_context.log") == {}


def test_a_row_that_waits_for_a_reset_is_an_event_of_its_gpu() -> None:
    (address,) = case("xid63_row_remapper.log")

    assert address == "0000:10:1c"


def test_addresses_are_written_in_lower_case() -> None:
    assert set(events("[ 5.0] NVRM: Xid (PCI:0000:10:1C): 63, pid=1896, Row Remapper\n")) == {"0000:10:1c"}


def test_the_recovery_action_of_each_gpu_is_the_last_that_was_announced() -> None:
    found = case("gb200_nvlink_xid149_154.log")

    assert {address: one.recovery_action for address, one in found.items()} == {
        "0008:01:00": "GPU Reset Required",
        "0009:01:00": "Drain and Reset",
        "0018:01:00": "GPU Reset Required",
        "0019:01:00": "GPU Reset Required",
    }
    assert set(found["0009:01:00"].counts) | set(found["0009:01:00"].nonfatal_counts) == {149, 154}


def test_a_gpu_that_fell_off_the_bus_is_told_without_a_number() -> None:
    (one,) = case("fallen_off_bus_no_xid.log").values()

    assert (one.address, one.counts, one.off_the_bus) == ("0000:b3:00", {}, True)


def test_xid_79_is_told_beside_the_fall_from_the_bus() -> None:
    found = events(
        "[ 10.0] NVRM: GPU at PCI:0000:9b:00: GPU-6a212d23-528f-7b13-ab0d-bcb692b4c6a5\n"
        "[ 10.1] NVRM: Xid (PCI:0000:9b:00): 79, pid=77, name=python, GPU has fallen off the bus.\n"
        "[ 10.1] NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.\n"
    )

    assert (found["0000:9b:00"].counts, found["0000:9b:00"].off_the_bus) == ({79: 1}, True)


def test_a_45_that_names_an_earlier_number_belongs_to_that_one() -> None:
    found = events(
        "[ 10.0] NVRM: Xid (PCI:0000:9b:00): 94, pid=77, name=python, Contained: SM\n"
        "[ 10.2] NVRM: Xid (PCI:0000:9b:00): 45, pid=77, name=python, Ch 00000008, caused by previous Xid 94\n"
    )

    assert found["0000:9b:00"].counts == {94: 1}


def test_nonfatal_link_events_are_told_apart_from_fatal_ones() -> None:
    text = "[ 3.0] NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Nonfatal   XC0 i0 Link 01 (0x1)\n"

    (one,) = events(text).values()

    assert (one.counts, one.nonfatal_counts) == ({}, {149: 1})


def test_after_a_reset_that_the_driver_announces_earlier_events_no_longer_count() -> None:
    (one,) = events(
        "[ 3.0] NVRM: Xid (PCI:0009:01:00): 48, pid=5, name=python, DBE\n"
        f"[ 3.1] {ACTION} 0x0 (None) to 0x1 (GPU Reset Required)\n"
        f"[ 90.0] {ACTION} 0x1 (GPU Reset Required) to 0x0 (None)\n"
    ).values()

    assert (one.counts, one.recovery_action) == ({}, "None")


def test_events_before_the_driver_was_loaded_again_no_longer_count() -> None:
    found = events(
        "[ 3.0] NVRM: Xid (PCI:0000:9b:00): 48, pid=5, name=python, DBE\n"
        "[ 60.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.86.10  Release Build\n"
        "[ 61.0] NVRM: Xid (PCI:0000:9b:00): 13, pid=7, name=python, Graphics Exception\n"
    )

    assert found["0000:9b:00"].counts == {13: 1}


def test_the_same_number_a_minute_later_is_another_event() -> None:
    (one,) = events(
        "[ 3.0] NVRM: Xid (PCI:0000:9b:00): 31, pid=5, name=python, MMU Fault\n"
        "[ 63.0] NVRM: Xid (PCI:0000:9b:00): 31, pid=5, name=python, MMU Fault\n"
    ).values()

    assert (one.counts, one.last_after_boot) == ({31: 2}, 63.0)


def test_a_line_cut_within_its_number_gives_no_number() -> None:
    assert events("[ 3.0] NVRM: Xid (PCI:0000:9b:00): 7") == {}


def test_the_same_number_right_after_a_reset_is_a_new_event() -> None:
    (one,) = events(
        "[ 3.0] NVRM: Xid (PCI:0009:01:00): 31, pid=5, name=python, MMU Fault\n"
        f"[ 3.1] {ACTION} 0x1 (GPU Reset Required) to 0x0 (None)\n"
        "[ 4.0] NVRM: Xid (PCI:0009:01:00): 31, pid=5, name=python, MMU Fault\n"
    ).values()

    assert one.counts == {31: 1}
