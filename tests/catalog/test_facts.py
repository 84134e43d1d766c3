"""The facts and units of items that a probe measures, as agreed between agent and portal."""

import pytest

from checks.domain.catalogue import Catalogue

SYSCTL = {"live": "count", "configured": "count", "configured_state": "text", "configured_by": "text"}

FACTS = {
    "gpu-present": {"gpus_visible": "count", "gpus_lost": "count"},
    "gpu-clean": {
        "foreign_processes": "count", "job_processes": "count", "memory_used": "MiB", "mig_enabled": "bool",
        "compute_mode": "text",
    },
    "gpu-ecc": {
        "ecc_enabled": "bool", "volatile_uncorrectable": "count", "volatile_correctable": "count",
        "aggregate_sram_uncorrectable": "count", "sram_threshold_exceeded": "bool", "remap_pending": "bool",
        "remap_failed": "bool",
    },
    "gpu-temperature": {"temperature": "celsius", "tlimit": "celsius", "utilization": "percent"},
    "gpu-clock-throttle": {
        "hw_slowdown_active": "bool", "hw_thermal": "microseconds", "power_brake": "microseconds",
        "sw_thermal": "microseconds", "sw_power_cap": "microseconds", "sm_clock": "MHz", "sm_clock_share": "ratio",
        "utilization": "percent",
    },
    "gpu-pcie-width": {"width": "lanes", "width_max": "lanes"},
    "gpu-pcie-generation": {"generation": "count", "generation_max": "count", "utilization": "percent"},
    "gpu-fabric": {
        "fabric_states": "text", "fabric_statuses": "text", "cliques": "text", "cluster_uuids": "text",
    },
    "gpu-firmware": {"vbios": "text", "inforom": "text", "part_number": "text"},
    "gpu-xid": {
        "xids": "text", "nonfatal_xids": "text", "last_xid_at": "seconds", "recovery_action": "text", "off_bus": "bool",
    },
    "gpu-nvlink-links": {"links_up": "count", "links": "count", "link_speed_min": "GB/s"},
    "gpu-nvlink-errors": {
        "recovery_errors": "count", "replay_errors": "count", "crc_errors": "count", "effective_ber": "ratio",
        "utilization": "percent",
    },
    "driver-cuda-match": {
        "driver": "text", "user_driver": "text", "environment": "text", "cuda_runtime": "text",
        "compat_loaded": "bool",
    },
    "rdma-link": {
        "device": "text", "state": "text", "physical_state": "text", "rate": "Gb/s", "link_downed": "count",
        "symbol_errors": "count",
    },
    "nic-drop-rate": {"drop_share": "percent", "packets": "packets", "discarded": "packets", "counters": "text"},
    "nic-queue-depth": {
        "link_layer": "text", "model": "text", "rx_ring": "count", "tx_ring": "count", "channels": "count",
    },
    "nvme-health": {
        "disks": "count", "critical_warnings": "count", "spare_left_min": "percent", "wear_max": "percent",
    },
    "persistence-mode": {"gpus_without_persistence": "count"},
    "sysctl-swappiness": SYSCTL | {"swap_devices": "count"},
    "sysctl-somaxconn": SYSCTL,
    "sysctl-syn-backlog": SYSCTL,
    "sysctl-netdev-backlog": SYSCTL | {"live": "packets", "configured": "packets", "softnet_dropped": "packets"},
    "sysctl-file-max": SYSCTL,
    "ulimit-nofile": {"soft": "count", "hard": "count", "context": "text"},
    "ulimit-memlock": {"soft": "bytes", "hard": "bytes", "context": "text"},
    "numa-binding": {"numa_nodes": "count", "bound": "bool"},
    "cpu-governor": {"cpufreq": "text", "cpus": "count", "governed_cpus": "count", "governors": "text"},
    "clock-sync": {"synchronized": "bool", "offset": "milliseconds", "source": "text"},
    "mem-oom": {"global_oom_kills_24h": "count", "memory_total": "MiB"},
    "hung-io": {"longest_wait": "seconds", "slowest_mount": "seconds", "failing_mounts": "count"},
    "checkpoint-mount": {"mounted": "bool", "writable": "bool", "device": "text", "fstype": "text"},
    "checkpoint-atime": {"atime": "text", "fstype": "text"},
}  # fmt: skip


@pytest.mark.parametrize("key", FACTS)
def test_an_item_takes_exactly_the_facts_its_probe_sends_and_the_shares_of_them_in_their_units(
    catalogue: Catalogue, key: str
) -> None:
    assert catalogue.items[key].facts == FACTS[key]
