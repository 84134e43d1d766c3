"""Reports of a healthy fleet: the facts that the first probes send, with values that pass."""

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence, Scope

SYSCTL = {"configured_state": ("set", "text"), "configured_by": ("/etc/sysctl.d/90-train.conf:1", "text")}
PASSING: dict[str, dict[str, tuple[object, str]]] = {
    "gpu-present": {"gpus_visible": (8, "count"), "gpus_lost": (0, "count")},
    "gpu-ecc": {
        "ecc_enabled": (True, "bool"), "volatile_uncorrectable": (0, "count"), "volatile_correctable": (0, "count"),
        "aggregate_sram_uncorrectable": (0, "count"), "sram_threshold_exceeded": (False, "bool"),
        "remap_pending": (False, "bool"), "remap_failed": (False, "bool"),
    },
    "gpu-temperature": {"temperature": (61, "celsius"), "utilization": (97, "percent")},
    "gpu-clock-throttle": {
        "hw_slowdown_active": (False, "bool"), "hw_thermal": (0, "microseconds"), "power_brake": (0, "microseconds"),
        "sw_thermal": (0, "microseconds"), "utilization": (97, "percent"),
    },
    "gpu-pcie-width": {"width": (16, "lanes"), "width_max": (16, "lanes")},
    "gpu-pcie-generation": {
        "generation": (5, "count"), "generation_max": (5, "count"), "utilization": (97, "percent"),
    },
    "gpu-fabric": {"gpus_not_completed": (0, "count"), "gpus_not_success": (0, "count")},
    "persistence-mode": {"gpus_without_persistence": (0, "count")},
    "sysctl-swappiness": {"live": (1, "count"), "configured": (1, "count"), "swap_devices": (1, "count"), **SYSCTL},
    "sysctl-somaxconn": {"live": (65535, "count"), "configured": (65535, "count"), **SYSCTL},
    "sysctl-syn-backlog": {"live": (65535, "count"), "configured": (65535, "count"), **SYSCTL},
    "sysctl-netdev-backlog": {
        "live": (30000, "packets"), "configured": (30000, "packets"), "softnet_dropped": (0, "packets"), **SYSCTL,
    },
    "sysctl-file-max": {"live": (9223372036854775807, "count"), "configured_state": ("unset", "text")},
    "ulimit-nofile": {"soft": (1048576, "count"), "hard": (1048576, "count"), "context": ("job", "text")},
    "ulimit-memlock": {"soft": ("unlimited", "bytes"), "hard": ("unlimited", "bytes"), "context": ("job", "text")},
    "cpu-governor": {
        "cpufreq": ("present", "text"), "cpus": (192, "count"), "cpus_not_performance": (0, "count"),
        "governors": ("performance", "text"),
    },
    "clock-sync": {"synchronized": (True, "bool"), "offset": (0.2, "milliseconds"), "source": ("chrony", "text")},
    "mem-oom": {"global_oom_kills_24h": (0, "count"), "memory_total": (2063740, "MiB")},
    "hung-io": {"stuck_tasks": (0, "count"), "slow_mounts": (0, "count")},
    "checkpoint-mount": {
        "mounted": (True, "bool"), "writable": (True, "bool"), "device": ("/dev/md0", "text"),
        "fstype": ("xfs", "text"),
    },
    "checkpoint-atime": {"atime": ("noatime", "text"), "fstype": ("xfs", "text")},
}  # fmt: skip


def passing_reports(
    rules: Ruleset, hostname: str, boot_id: str, *, count: int, slipping: str = "sysctl-somaxconn"
) -> Iterator[dict[str, object]]:
    """*count* full tick reports of one node, half a second of its boot clock apart.

    Every 25th says that *slipping* fails, so that flips are written too (4 % of reports, two flips each).
    """
    items = [key for key in rules.due(Cadence.TICK) if key in PASSING]
    if missing := set(rules.due(Cadence.TICK)) - set(items):
        raise ValueError(f"No passing facts are known for {', '.join(sorted(missing))}.")
    for number in range(count):
        boottime = 86_400.0 + number * 0.5
        facts = [
            fact
            for item in items
            for fact in _facts(rules, item, boottime, fails=item == slipping and number % 25 == 24)
        ]
        yield _report(hostname, boot_id, boottime, items, facts)


def results_in(rules: Ruleset) -> int:
    """How many verdicts one such report leads to."""
    return sum(len(rules.subjects(key)) for key in rules.due(Cadence.TICK))


def body_of(report: dict[str, object]) -> str:
    """The report as one line of JSON."""
    return json.dumps(report, separators=(",", ":"))


def _facts(rules: Ruleset, item: str, boottime: float, *, fails: bool) -> Iterator[dict[str, object]]:
    subjects = rules.subjects(item) if rules.items[item].scope is Scope.GPU else ("",)
    for subject in subjects:
        for name, (value, unit) in PASSING[item].items():
            shown = 128 if fails and name == "live" else value
            yield {
                "item": item, "subject": subject, "name": name, "value": shown, "unit": unit, "observed_at": boottime,
            }  # fmt: skip


def _report(
    hostname: str, boot_id: str, boottime: float, items: list[str], facts: list[dict[str, object]]
) -> dict[str, object]:
    now = datetime.now(UTC).isoformat()
    return {
        "schema": 1, "report_id": str(uuid.uuid4()), "agent_version": "bench",
        "node": {"hostname": hostname, "boot_id": boot_id, "serials": {}}, "started_at": now, "finished_at": now,
        "clock": {"unix": datetime.now(UTC).timestamp(), "boottime": boottime}, "cadence": "tick",
        "plan_etag": None, "origin": "live", "captured_at": None, "covered": items, "facts": facts,
        "problems": [], "evidence": [], "lost": {"spool": 0, "bad": 0},
    }  # fmt: skip
