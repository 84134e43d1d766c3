"""What a sound node says: the facts that the probes send, with values that pass, and that move as real ones do.

Benchmarks and simulated fleets send these; a test holds them to the checklist, whatever it learns to ask.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from checks.domain.errors import CountersignError
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence

Said = tuple[object, str]


class NoFactsKnown(CountersignError):
    """The checklist asks for something that this module knows no passing value of."""

    code = "no_facts_known"


class Work(Enum):
    """What the node does: while idle only temperatures move, under work utilization and traffic move, too."""

    IDLE = "idle"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class Writing:
    """One report that is to be written: its cadence and items, how many came before, and the node's two clocks.

    *wall* is what the node takes for the time, *boottime* its seconds since the boot.
    """

    cadence: Cadence
    items: Iterable[str]
    number: int
    boottime: float
    wall: datetime


@dataclass(frozen=True, slots=True)
class Troubles:
    """What is not as on a sound node: *changed* values by item and fact, and items whose tool *hung*."""

    changed: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    hung: frozenset[str] = frozenset()


NO_TROUBLE = Troubles()


@dataclass(frozen=True, slots=True)
class SoundNode:
    """One node that writes reports. *program* stands where an agent states its version."""

    rules: Ruleset
    hostname: str
    boot_id: str
    work: Work
    program: str

    @property
    def serials(self) -> dict[str, str]:
        """Slot -> serial, one a GPU."""
        gpus = {f"gpu{place}": f"GPU-{self.hostname}-{place}" for place in range(self.rules.profile.gpus)}
        return {"system": f"SYS-{self.hostname}", **gpus}

    def report(self, writing: Writing, troubles: Troubles = NO_TROUBLE) -> dict[str, object]:
        """A full report as the wire carries it.

        Raises:
            NoFactsKnown: an item is asked for that this module knows no passing facts of.
        """
        covered = list(writing.items)
        if missing := sorted(set(covered) - FACTS.keys()):
            raise NoFactsKnown(f"No passing facts are known for {', '.join(missing)}.")
        at = writing.wall.isoformat()
        return {
            "schema": 1, "report_id": str(uuid.uuid4()), "agent_version": self.program,
            "node": {"hostname": self.hostname, "boot_id": self.boot_id, "serials": self.serials},
            "started_at": at, "finished_at": at,
            "clock": {"unix": writing.wall.timestamp(), "boottime": writing.boottime}, "cadence": writing.cadence,
            "plan_etag": None, "origin": "live", "captured_at": None, "covered": covered,
            "facts": self._facts([item for item in covered if item not in troubles.hung], writing, troubles),
            "problems": [
                {"item": item, "subject": None, "kind": "hung", "detail": "no answer within its deadline"}
                for item in covered if item in troubles.hung
            ],
            "evidence": [], "lost": {"spool": 0, "bad": 0},
        }  # fmt: skip

    def _facts(self, items: Iterable[str], writing: Writing, troubles: Troubles) -> list[dict[str, object]]:
        said = [
            (item, subject, name, troubles.changed.get(item, {}).get(name, value), unit)
            for item in items
            for subject in self.rules.subjects(_TOLD_OF.get(item, item))
            for name, (value, unit) in self._said(item, subject, writing.number).items()
        ]
        names = ("item", "subject", "name", "value", "unit")
        return [{**dict(zip(names, one, strict=True)), "observed_at": writing.boottime} for one in said]

    def _said(self, item: str, subject: str, number: int) -> dict[str, Said]:
        return {**FACTS[item], **_of_profile(self.rules, item), **_moving(item, subject, number, self.work)}


#: An item of the whole cluster that a node tells of its cards, as of those of another one.
_TOLD_OF: Mapping[str, str] = {"net-switch-qos": "rdma-link"}
_SET = {"configured_state": ("set", "text"), "configured_by": ("/etc/sysctl.d/90-train.conf:1", "text")}
TICK_FACTS: Mapping[str, Mapping[str, Said]] = {
    "gpu-present": {"gpus_lost": (0, "count")},
    "gpu-ecc": {
        "ecc_enabled": (True, "bool"), "volatile_uncorrectable": (0, "count"), "volatile_correctable": (0, "count"),
        "aggregate_sram_uncorrectable": (0, "count"), "sram_threshold_exceeded": (False, "bool"),
        "remap_pending": (False, "bool"), "remap_failed": (False, "bool"),
    },
    "gpu-temperature": {},
    "gpu-clock-throttle": {
        "hw_slowdown_active": (False, "bool"), "hw_thermal": (0, "microseconds"), "power_brake": (0, "microseconds"),
        "sw_thermal": (0, "microseconds"), "sm_clock": (1980, "MHz"),
    },
    "gpu-pcie-width": {"width": (16, "lanes"), "width_max": (16, "lanes")},
    "gpu-pcie-generation": {"generation": (5, "count"), "generation_max": (5, "count")},
    "gpu-fabric": {"fabric_states": ("Completed", "text"), "fabric_statuses": ("Success", "text")},
    "gpu-nvlink-links": {"links_up": (18, "count"), "links": (18, "count"), "link_speed_min": (26.562, "GB/s")},
    "gpu-nvlink-errors": {
        "recovery_errors": (0, "count"), "replay_errors": (0, "count"), "crc_errors": (0, "count"),
        "effective_ber": (1e-17, "ratio"),
    },
    "gpu-xid": {
        "xids": ("none", "text"), "nonfatal_xids": ("none", "text"), "off_bus": (False, "bool"),
        "recovery_action": ("None", "text"),
    },
    "persistence-mode": {"gpus_without_persistence": (0, "count")},
    "sysctl-swappiness": {"live": (1, "count"), "configured": (1, "count"), "swap_devices": (1, "count"), **_SET},
    "sysctl-somaxconn": {"live": (65535, "count"), "configured": (65535, "count"), **_SET},
    "sysctl-syn-backlog": {"live": (65535, "count"), "configured": (65535, "count"), **_SET},
    "sysctl-netdev-backlog": {
        "live": (30000, "packets"), "configured": (30000, "packets"), "softnet_dropped": (0, "packets"), **_SET,
    },
    "sysctl-file-max": {"live": (9223372036854775807, "count"), "configured_state": ("unset", "text")},
    "ulimit-nofile": {"soft": (1048576, "count"), "hard": (1048576, "count"), "context": ("job", "text")},
    "ulimit-memlock": {"soft": ("unlimited", "bytes"), "hard": ("unlimited", "bytes"), "context": ("job", "text")},
    "cpu-governor": {
        "cpufreq": ("present", "text"), "cpus": (192, "count"), "governed_cpus": (192, "count"),
        "governors": ("performance", "text"),
    },
    "clock-sync": {"synchronized": (True, "bool"), "offset": (0.2, "milliseconds"), "source": ("chrony", "text")},
    "mem-oom": {"global_oom_kills_24h": (0, "count")},
    "hung-io": {
        "longest_wait": (0.0, "seconds"), "slowest_mount": (0.0, "seconds"), "failing_mounts": (0, "count"),
    },
    "checkpoint-mount": {
        "mounted": (True, "bool"), "writable": (True, "bool"), "device": ("/dev/md0", "text"),
        "fstype": ("xfs", "text"),
    },
    "checkpoint-atime": {"atime": ("noatime", "text"), "fstype": ("xfs", "text")},
    "rdma-link": {
        "device": ("mlx5_0/1", "text"), "state": ("ACTIVE", "text"), "physical_state": ("LinkUp", "text"),
        "link_downed": (0, "count"), "symbol_errors": (0, "count"),
    },
    "nic-drop-rate": {
        "drop_share": (0.0, "percent"), "discarded": (0, "packets"), "counters": ("rx_discards_phy", "text"),
    },
    "room-environment": {"inlet": (22.5, "celsius"), "alarms": (0, "count")},
    "rendezvous": {
        "master": ("gpu0000:29500", "text"), "resolves": (True, "bool"), "reaches": (True, "bool"),
        "is_master": (False, "bool"), "interfaces": ("eth0", "text"), "socket_interfaces": (1, "count"),
    },
}  # fmt: skip
DAILY_FACTS: Mapping[str, Mapping[str, Said]] = {
    "driver-cuda-match": {
        "driver": ("570.172.08", "text"), "user_driver": ("570.172.08", "text"),
        "environment": ("job", "text"),
        "cuda_runtime": ("12.8", "text"), "compat_loaded": (False, "bool"),
    },
    "gpu-firmware": {
        "vbios": ("96.00.A5.00.03", "text"), "inforom": ("G520.0280.00.05", "text"),
        "part_number": ("692-2G520-0280-000", "text"),
    },
    "nic-queue-depth": {
        "link_layer": ("Ethernet", "text"), "model": ("ConnectX-7", "text"), "rx_ring": (8192, "count"),
        "tx_ring": (8192, "count"), "channels": (63, "count"),
    },
    "net-switch-qos": {
        "link_layer": ("Ethernet", "text"), "traffic_class_mapped": (True, "bool"),
        "qos": ("trust dscp, pfc 0,0,0,1,0,0,0,0", "text"),
    },
    "nvme-health": {
        "disks": (8, "count"), "critical_warnings": (0, "count"), "spare_left_min": (90, "percent"),
        "wear_max": (3, "percent"),
    },
    "iommu-acs": {"bridges_with_acs": (0, "count")},
    "trainer-lib-pinned": {"unpinned": (0, "count"), "origins": (f"deepspeed 0.16.4 git {'5d' * 20}", "text")},
    "python-env-uniform": {"environment": ("sha256:" + "e1" * 32, "text")},
    "image-uniform": {
        "image": ("train:2026-11", "text"), "present": (True, "bool"), "digest": ("sha256:" + "a7" * 32, "text"),
    },
    "nccl-cuda-match": {
        "loaded": ("2.26.2", "text"), "built_with": ("2.26.2", "text"), "older_than_built": (False, "bool"),
        "cuda_major_equal": (True, "bool"),
    },
    "nccl-no-system": {"loaded_copies": (1, "count"), "installed_copies": (1, "count")},
}  # fmt: skip
START_FACTS: Mapping[str, Mapping[str, Said]] = {
    "gpu-clean": {
        "foreign_processes": (0, "count"), "job_processes": (0, "count"), "memory_used": (0, "MiB"),
        "mig_enabled": (False, "bool"), "compute_mode": ("Default", "text"),
    },
}  # fmt: skip
FACTS: Mapping[str, Mapping[str, Said]] = {**TICK_FACTS, **DAILY_FACTS, **START_FACTS}
"""What every sound node says, whatever its hardware and work; ``_moving`` and ``_of_profile`` say the rest."""


def _of_profile(rules: Ruleset, item: str) -> dict[str, Said]:
    """What passes on this hardware, and would fail on other."""
    thresholds = rules.profile.thresholds
    said: dict[str, dict[str, Said]] = {
        "gpu-present": {"gpus_visible": (rules.profile.gpus, "count")},
        "mem-oom": {"memory_total": (thresholds.get("memory_total_min", 2_063_740), "MiB")},
        "rdma-link": {"rate": (thresholds.get("nic_rate", 400), "Gb/s")},
    }
    return said.get(item, {})


def _moving(item: str, subject: str, number: int, work: Work) -> dict[str, Said]:
    """What differs from one report to the next: temperatures always, utilization and traffic under work."""
    place = int(subject[3:] or 0)
    busy = work is Work.BUSY
    utilization: Said = (94 + (place + number) % 6 if busy else 0, "percent")
    temperature: Said = ((61 if busy else 34) + (place + number) % 4, "celsius")
    said: dict[str, dict[str, Said]] = {
        "gpu-temperature": {"temperature": temperature, "utilization": utilization},
        "gpu-clock-throttle": {"utilization": utilization},
        "gpu-pcie-generation": {"utilization": utilization},
        "gpu-nvlink-errors": {"utilization": utilization},
        "nic-drop-rate": {"packets": (5_000_000 * (number + 1) if busy else 5_000_000, "packets")},
    }
    return said.get(item, {})
