"""What the shipped rules make of values that were read on real nodes, and of the borders that the design names.

Values of the 2 x H200 machine are those of its captures (shared/captures): they were read there by eye.
"""

import pytest

from checks.domain.catalogue import Catalogue
from checks.domain.evaluation import judge
from checks.domain.facts import Fact
from checks.domain.measuring import measure
from checks.domain.memory import ItemMemory
from checks.domain.profiles import Ruleset
from checks.domain.units import Scalar
from tests.catalog.conftest import BOOT, NOON, Judged, Sample

CLEAN_ECC: Sample = {
    "ecc_enabled": True, "volatile_uncorrectable": 0, "volatile_correctable": 0, "aggregate_sram_uncorrectable": 0,
    "sram_threshold_exceeded": False, "remap_pending": False, "remap_failed": False,
}  # fmt: skip

# GPU 0 of the burn capture: 98 % utilization, 690 of 700 W, SW power cap active all the time.
LOADED: Sample = {
    "hw_slowdown_active": False, "hw_thermal": 0, "power_brake": 0, "sw_thermal": 0, "sw_power_cap": 100_000_000,
    "sm_clock": 1485, "sm_clock_share": 1.0, "utilization": 98,
}  # fmt: skip

FREE_GPU: Sample = {
    "foreign_processes": 0, "job_processes": 0, "memory_used": 0, "mig_enabled": False, "compute_mode": "Default",
}  # fmt: skip

JOINED = "3f6d0a4e-5d0b-4b53-8d2e-6a8f0f1b2c3d"


@pytest.mark.parametrize(
    ("key", "live", "verdict"),
    [
        ("sysctl-netdev-backlog", 1000, "fail"),
        ("sysctl-swappiness", 60, "fail"),
        ("sysctl-somaxconn", 4096, "fail"),
        ("sysctl-syn-backlog", 4096, "fail"),
        ("sysctl-file-max", 26396503, "pass"),
    ],
)
def test_the_kernel_settings_of_the_h200_machine_whose_files_were_not_captured(
    judged: Judged, key: str, live: int, verdict: str
) -> None:
    assert judged("2xh200-virtual", key, {"live": live}) == verdict


def test_a_node_without_swap_needs_no_swappiness(judged: Judged) -> None:
    sample: Sample = {"live": 60, "configured_state": "unset", "swap_devices": 0}
    assert judged("2xh200-virtual", "sysctl-swappiness", sample) == "na"


@pytest.mark.parametrize(("value", "verdict"), [(0, "warn"), (1, "pass"), (2, "fail")])
def test_swappiness_must_be_one_and_zero_only_warns(judged: Judged, value: int, verdict: str) -> None:
    sample: Sample = {"live": value, "configured": value, "configured_state": "set", "swap_devices": 1}
    assert judged("8xa100-40", "sysctl-swappiness", sample) == verdict


def test_a_backlog_that_a_file_keeps_passes_until_packets_are_dropped(judged: Judged) -> None:
    sample: Sample = {"live": 5000, "configured": 5000, "configured_state": "set", "softnet_dropped": 0}

    assert judged("8xh100", "sysctl-netdev-backlog", sample) == "pass"
    assert judged("8xh100", "sysctl-netdev-backlog", sample, sample | {"softnet_dropped": 1}) == "fail"


@pytest.mark.parametrize("key", ["sysctl-somaxconn", "sysctl-syn-backlog"])
def test_a_setting_that_no_file_keeps_warns_until_it_was_seen_good_after_a_reboot(judged: Judged, key: str) -> None:
    assert judged("8xh100", key, {"live": 65535, "configured_state": "unset"}) == "warn"


def test_a_good_setting_whose_files_were_not_read_is_unknown(judged: Judged) -> None:
    assert judged("8xh100", "sysctl-syn-backlog", {"live": 65535}) == "unknown"


@pytest.mark.parametrize(("limit", "verdict"), [(20000, "fail"), (1048576, "pass"), ("unlimited", "pass")])
def test_a_job_needs_a_million_open_files(judged: Judged, limit: Scalar, verdict: str) -> None:
    assert judged("2xh200-virtual", "ulimit-nofile", {"soft": limit, "hard": limit, "context": "job"}) == verdict


@pytest.mark.parametrize(("limit", "verdict"), [("unlimited", "pass"), (8_388_608, "fail")])
def test_only_unlimited_locked_memory_will_do(judged: Judged, limit: Scalar, verdict: str) -> None:
    assert judged("2xh200-virtual", "ulimit-memlock", {"soft": limit, "hard": limit, "context": "job"}) == verdict


def test_a_missing_cpufreq_is_normal_in_a_virtual_machine_and_unknown_on_bare_metal(judged: Judged) -> None:
    assert judged("2xh200-virtual", "cpu-governor", {"cpufreq": "absent", "cpus": 32}) == "na"
    assert judged("no-gpu", "cpu-governor", {"cpufreq": "absent", "cpus": 32}) == "unknown"


def test_a_machine_with_one_numa_node_has_nothing_to_bind(judged: Judged) -> None:
    assert judged("2xh200-virtual", "numa-binding", {"numa_nodes": 1}) == "na"
    assert judged("8xa100-40", "numa-binding", {"numa_nodes": 8}) == "unknown"


@pytest.mark.parametrize(
    ("sample", "verdict"),
    [
        ({"synchronized": False, "source": "adjtimex"}, "fail"),
        ({"synchronized": True, "offset": 0.4, "source": "chrony"}, "pass"),
        ({"synchronized": True, "offset": 10, "source": "chrony"}, "warn"),
        ({"synchronized": True, "offset": 50, "source": "chrony"}, "fail"),
        ({"synchronized": True, "source": "adjtimex"}, "unknown"),
    ],
)
def test_a_clock_must_be_synchronized_and_near(judged: Judged, sample: Sample, verdict: str) -> None:
    assert judged("2xh200-virtual", "clock-sync", sample) == verdict


def test_the_memory_of_the_h200_machine_is_that_of_its_profile(judged: Judged) -> None:
    # MemTotal: 263998500 kB
    assert judged("2xh200-virtual", "mem-oom", {"global_oom_kills_24h": 0, "memory_total": 257811}) == "pass"
    assert judged("2xh200-virtual", "mem-oom", {"global_oom_kills_24h": 0, "memory_total": 193358}) == "fail"


def test_two_gpus_are_enough_for_a_profile_of_two_and_too_few_for_one_of_eight(judged: Judged) -> None:
    sample: Sample = {"gpus_visible": 2, "gpus_lost": 0}

    assert judged("2xh200-virtual", "gpu-present", sample) == "pass"
    assert judged("8xh200", "gpu-present", sample) == "fail"
    assert judged("2xh200-virtual", "gpu-present", sample | {"gpus_lost": 1}) == "fail"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "pass"),
        ({"aggregate_sram_uncorrectable": 2}, "warn"),
        ({"sram_threshold_exceeded": True}, "fail"),
        ({"volatile_uncorrectable": 1}, "fail"),
        ({"remap_pending": True}, "fail"),
        ({"remap_failed": True}, "fail"),
        ({"ecc_enabled": False}, "fail"),
    ],
)
def test_old_memory_errors_warn_and_new_ones_fail(judged: Judged, change: Sample, verdict: str) -> None:
    assert judged("2xh200-virtual", "gpu-ecc", CLEAN_ECC | change) == verdict


def test_an_a100_whose_driver_shows_no_threshold_flag_is_held_to_four_lifetime_errors(judged: Judged) -> None:
    without_flag = {name: held for name, held in CLEAN_ECC.items() if name != "sram_threshold_exceeded"}

    assert judged("8xa100-80", "gpu-ecc", without_flag) == "pass"
    assert judged("8xa100-80", "gpu-ecc", without_flag | {"aggregate_sram_uncorrectable": 5}) == "fail"
    assert judged("8xh200", "gpu-ecc", without_flag) == "unknown"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "pass"),
        ({"memory_used": 16}, "fail"),
        ({"foreign_processes": 1}, "fail"),
        ({"mig_enabled": True}, "fail"),
        ({"compute_mode": "Exclusive_Process"}, "fail"),
        ({"job_processes": 1, "memory_used": 1002}, "unknown"),
    ],
)
def test_a_gpu_is_clean_unless_something_foreign_is_on_it(judged: Judged, change: Sample, verdict: str) -> None:
    assert judged("2xh200-virtual", "gpu-clean", FREE_GPU | change) == verdict


def test_a_power_cap_at_full_load_is_normal_once_300_seconds_have_proved_it(judged: Judged) -> None:
    samples = [LOADED | {"sw_power_cap": gained} for gained in (100_000_000, 250_000_000, 400_000_000)]

    assert judged("2xh200-virtual", "gpu-clock-throttle", samples[0]) == "unknown"
    assert judged("2xh200-virtual", "gpu-clock-throttle", *samples) == "pass"


def test_a_thermal_slowdown_fails_even_before_anything_is_proved(judged: Judged) -> None:
    assert judged("2xh200-virtual", "gpu-clock-throttle", LOADED, LOADED | {"hw_thermal": 1}) == "fail"


def test_70_degrees_under_load_pass_and_86_for_five_minutes_fail(judged: Judged) -> None:
    cool: Sample = {"temperature": 70, "tlimit": 14, "utilization": 99}

    assert judged("2xh200-virtual", "gpu-temperature", *[cool] * 3) == "pass"
    assert judged("2xh200-virtual", "gpu-temperature", *[cool | {"temperature": 86}] * 3) == "fail"
    assert judged("2xh200-virtual", "gpu-temperature", cool | {"utilization": 0}) == "unknown"


def test_a_low_pcie_generation_of_an_idle_gpu_is_no_sample(judged: Judged) -> None:
    idle: Sample = {"generation": 1, "generation_max": 5, "utilization": 0}
    full: Sample = {"generation": 5, "generation_max": 5, "utilization": 98}

    assert judged("2xh200-virtual", "gpu-pcie-generation", idle) == "unknown"
    assert judged("2xh200-virtual", "gpu-pcie-generation", *[full] * 3) == "pass"
    assert judged("2xh200-virtual", "gpu-pcie-generation", full | {"generation": 4}) == "fail"


def test_half_of_the_lanes_fail(judged: Judged) -> None:
    assert judged("2xh200-virtual", "gpu-pcie-width", {"width": 16, "width_max": 16}) == "pass"
    assert judged("2xh200-virtual", "gpu-pcie-width", {"width": 8, "width_max": 16}) == "fail"


def test_a_width_that_no_profile_states_is_unknown_until_the_cluster_states_it(catalogue: Catalogue) -> None:
    assert not Ruleset.build(catalogue, "gb200-nvl4", {}).items["gpu-pcie-width"].criteria

    stated = Ruleset.build(catalogue, "gb200-nvl4", {"thresholds": {"pcie_width": {"threshold": 16}}})
    assert [criterion.threshold for criterion in stated.items["gpu-pcie-width"].criteria] == [16]


def test_fabric_ids_of_zero_are_normal_outside_of_multi_node_nvlink_and_a_fault_in_it(judged: Judged) -> None:
    zero: Sample = {
        "fabric_states": "Completed", "fabric_statuses": "Success", "cliques": "0",
        "cluster_uuids": "00000000-0000-0000-0000-000000000000",
    }  # fmt: skip

    assert judged("2xh200-virtual", "gpu-fabric", zero) == "pass"
    assert judged("gb200-nvl4", "gpu-fabric", zero) == "fail"
    assert judged("gb200-nvl4", "gpu-fabric", zero | {"cliques": "3", "cluster_uuids": JOINED}) == "pass"


def test_one_gpu_outside_of_its_domain_fails_a_tray_whose_others_joined(judged: Judged) -> None:
    joined: Sample = {"fabric_states": "Completed", "fabric_statuses": "Success", "cliques": "3"}
    unset = "00000000-0000-0000-0000-000000000000"

    assert judged("gb200-nvl4", "gpu-fabric", joined | {"cliques": "0, 3", "cluster_uuids": JOINED}) == "fail"
    assert judged("gb200-nvl4", "gpu-fabric", joined | {"cluster_uuids": f"{unset}, {JOINED}"}) == "fail"


def test_one_gpu_that_the_fabric_has_not_taken_yet_fails_the_node(judged: Judged) -> None:
    sample: Sample = {"fabric_states": "Completed, In Progress", "fabric_statuses": "Success"}

    assert judged("2xh200-virtual", "gpu-fabric", sample) == "fail"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "pass"),
        ({"longest_wait": 60.0}, "pass"),
        ({"longest_wait": 60.1}, "fail"),
        ({"slowest_mount": 1.9}, "pass"),
        ({"slowest_mount": 2.0}, "fail"),
        ({"failing_mounts": 1}, "fail"),
    ],
)
def test_a_minute_in_the_kernel_and_two_seconds_for_a_mount_are_the_borders(
    judged: Judged, change: Sample, verdict: str
) -> None:
    sample: Sample = {"longest_wait": 0.0, "slowest_mount": 0.0, "failing_mounts": 0}
    assert judged("8xh200", "hung-io", sample | change) == verdict


@pytest.mark.parametrize(
    ("change", "verdict"),
    [({}, "pass"), ({"governors": "performance, powersave"}, "fail"), ({"governed_cpus": 191}, "fail")],
)
def test_every_cpu_needs_a_governor_and_each_of_them_performance(judged: Judged, change: Sample, verdict: str) -> None:
    sample: Sample = {"cpufreq": "present", "cpus": 192, "governed_cpus": 192, "governors": "performance"}
    assert judged("8xh200", "cpu-governor", sample | change) == verdict


@pytest.mark.parametrize(("left", "verdict"), [(90, "pass"), (0, "pass"), (-3, "fail")])
def test_a_disk_below_its_own_limit_of_spare_blocks_fails(judged: Judged, left: int, verdict: str) -> None:
    sample: Sample = {"disks": 2, "critical_warnings": 0, "spare_left_min": left, "wear_max": 3}
    assert judged("8xh200", "nvme-health", sample) == verdict


def test_a_clock_that_stays_below_those_of_its_peers_for_five_minutes_warns(judged: Judged) -> None:
    slow = LOADED | {"sm_clock": 1385, "sm_clock_share": 0.93}

    assert judged("2xh200-virtual", "gpu-clock-throttle", *[LOADED] * 3) == "pass"
    assert judged("2xh200-virtual", "gpu-clock-throttle", *[slow] * 3) == "warn"
    assert judged("2xh200-virtual", "gpu-clock-throttle", slow, LOADED, slow) == "pass"


def test_firmware_that_is_known_is_good_until_nodes_are_compared(judged: Judged) -> None:
    sample: Sample = {"vbios": "96.00.A5.00.1A", "inforom": "G520.0282.02.02", "part_number": "692-2G520-0282-001"}
    assert judged("2xh200-virtual", "gpu-firmware", sample) == "pass"


@pytest.mark.parametrize(
    ("atime", "fstype", "verdict"),
    [
        ("noatime", "xfs", "pass"),
        ("relatime", "xfs", "warn"),
        ("strictatime", "xfs", "fail"),
        ("relatime", "nfs4", "na"),
    ],
)
def test_access_times_of_a_local_checkpoint_disk(judged: Judged, atime: str, fstype: str, verdict: str) -> None:
    assert judged("8xh100", "checkpoint-atime", {"atime": atime, "fstype": fstype}) == verdict


def test_a_read_only_checkpoint_mount_fails(judged: Judged) -> None:
    mount: Sample = {"mounted": True, "writable": True, "device": "/dev/md0", "fstype": "xfs"}

    assert judged("8xh100", "checkpoint-mount", mount) == "pass"
    assert judged("8xh100", "checkpoint-mount", mount | {"writable": False}) == "fail"


def test_a_site_that_names_its_checkpoint_device_fails_another_one(catalogue: Catalogue) -> None:
    ruleset = Ruleset.build(catalogue, "8xh100", {"thresholds": {"checkpoint_device": {"threshold": "/dev/md0"}}})
    item = ruleset.items["checkpoint-mount"]
    mount: Sample = {"mounted": True, "writable": True, "device": "/dev/vda1", "fstype": "ext4"}
    facts = [Fact(item.key, "", name, held, item.facts[name].value, NOON) for name, held in mount.items()]

    measured = measure(item, facts, [], ItemMemory(), observed_at=NOON, boot_id=BOOT)

    assert judge(item, measured.value, now=NOON).verdict == "fail"


def test_a_node_without_gpus_is_asked_for_no_gpu_item(catalogue: Catalogue) -> None:
    for profile in ("virtual", "no-gpu"):
        applicable = Ruleset.build(catalogue, profile, {}).applicable
        assert not {key for key in applicable if key.startswith(("gpu-", "rdma-", "nccl-", "nvme-"))}
        assert {"sysctl-netdev-backlog", "ulimit-nofile", "clock-sync", "mem-oom", "hung-io"} <= applicable
