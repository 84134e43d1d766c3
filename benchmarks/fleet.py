"""Reports of a healthy fleet: the facts that the probes send, with values that pass, and that move as real ones do."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

import msgspec

from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence

Said = tuple[object, str]

#: The profiles that the benchmarks send reports of.
PROFILES = ("2xh200-virtual", "8xh200")
#: One report in so many says that the slipping item fails, so that flips are written too (4 % of reports, two each).
SLIPS_EVERY = 25


class Work(Enum):
    """What the fleet does: on idle nodes only temperatures move, on busy ones utilization and traffic move, too."""

    IDLE = "idle"
    BUSY = "busy"


_SET = {"configured_state": ("set", "text"), "configured_by": ("/etc/sysctl.d/90-train.conf:1", "text")}
PASSING: Mapping[str, Mapping[str, Said]] = {
    "gpu-present": {"gpus_lost": (0, "count")},
    "gpu-ecc": {
        "ecc_enabled": (True, "bool"), "volatile_uncorrectable": (0, "count"), "volatile_correctable": (0, "count"),
        "aggregate_sram_uncorrectable": (0, "count"), "sram_threshold_exceeded": (False, "bool"),
        "remap_pending": (False, "bool"), "remap_failed": (False, "bool"),
    },
    "gpu-temperature": {},
    "gpu-clock-throttle": {
        "hw_slowdown_active": (False, "bool"), "hw_thermal": (0, "microseconds"), "power_brake": (0, "microseconds"),
        "sw_thermal": (0, "microseconds"),
    },
    "gpu-pcie-width": {"width": (16, "lanes"), "width_max": (16, "lanes")},
    "gpu-pcie-generation": {"generation": (5, "count"), "generation_max": (5, "count")},
    "gpu-fabric": {"gpus_not_completed": (0, "count"), "gpus_not_success": (0, "count")},
    "gpu-nvlink-links": {"links_up": (18, "count"), "links": (18, "count"), "link_speed_min": (26.562, "GB/s")},
    "gpu-nvlink-errors": {
        "recovery_errors": (0, "count"), "replay_errors": (0, "count"), "crc_errors": (0, "count"),
        "effective_ber": (1e-17, "ratio"),
    },
    "gpu-xid": {"fatal_xids": (0, "count"), "application_xids": (0, "count"), "off_bus": (False, "bool")},
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
        "cpufreq": ("present", "text"), "cpus": (192, "count"), "cpus_not_performance": (0, "count"),
        "governors": ("performance", "text"),
    },
    "clock-sync": {"synchronized": (True, "bool"), "offset": (0.2, "milliseconds"), "source": ("chrony", "text")},
    "mem-oom": {"global_oom_kills_24h": (0, "count")},
    "hung-io": {"stuck_tasks": (0, "count"), "slow_mounts": (0, "count")},
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
}  # fmt: skip
"""What every healthy node says; ``_moving`` and ``_of_profile`` say the rest."""


@dataclass(frozen=True, slots=True)
class FleetNode:
    """One node of the fleet. *slipping* is the item that now and then fails."""

    rules: Ruleset
    hostname: str
    boot_id: str
    work: Work
    slipping: str = "sysctl-somaxconn"

    def reports(self) -> Iterator[dict[str, object]]:
        """Full tick reports without end, half a second of the node's boot clock apart.

        Raises:
            ValueError: items are due that this module knows no passing facts for.
        """
        due = self.rules.due(Cadence.TICK)
        if missing := sorted(set(due) - PASSING.keys()):
            raise ValueError(f"No passing facts are known for {', '.join(missing)}.")
        number = 0
        while True:
            yield self._report(due, number)
            number += 1

    def _report(self, due: tuple[str, ...], number: int) -> dict[str, object]:
        now, boottime = datetime.now(UTC), 86_400.0 + number * 0.5
        facts = [
            {"item": item, "subject": subject, "name": name, "value": value, "unit": unit, "observed_at": boottime}
            for item in due
            for subject in self.rules.subjects(item)
            for name, (value, unit) in self._said(item, subject, number).items()
        ]
        return {
            "schema": 1, "report_id": str(uuid.uuid4()), "agent_version": "bench",
            "node": {"hostname": self.hostname, "boot_id": self.boot_id, "serials": self._serials()},
            "started_at": now.isoformat(), "finished_at": now.isoformat(),
            "clock": {"unix": now.timestamp(), "boottime": boottime}, "cadence": "tick", "plan_etag": None,
            "origin": "live", "captured_at": None, "covered": due, "facts": facts, "problems": [], "evidence": [],
            "lost": {"spool": 0, "bad": 0},
        }  # fmt: skip

    def _said(self, item: str, subject: str, number: int) -> dict[str, Said]:
        said = {**PASSING[item], **_of_profile(self.rules, item), **_moving(item, subject, number, self.work)}
        if item == self.slipping and number % SLIPS_EVERY == SLIPS_EVERY - 1:
            said["live"] = (128, said["live"][1])
        return said

    def _serials(self) -> dict[str, str]:
        gpus = {f"gpu{place}": f"GPU-{self.hostname}-{place}" for place in range(self.rules.profile.gpus)}
        return {"system": f"SYS-{self.hostname}", **gpus}


def results_in(rules: Ruleset) -> int:
    """How many verdicts one such report leads to."""
    return sum(len(rules.subjects(key)) for key in rules.due(Cadence.TICK))


def body_of(report: dict[str, object]) -> bytes:
    """The report as one line of JSON."""
    return msgspec.json.encode(report)


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
