"""Clusters, and machines that enrol and report as an agent does: through the services, or through HTTP."""

import atexit
import shutil
import tempfile
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from checks.models import CatalogVersion, Cluster, Node, NodeItemState, NodeReadiness, TokenKind
from checks.services.catalog import load_catalogue
from checks.services.clusters import create_cluster
from checks.services.enrolment import Enrolment, enrol_node
from checks.services.receipts import Receipt
from checks.services.report_v1 import ReportV1
from checks.services.reports import record_report
from checks.services.tokens import issue_token

SHIPPED = Path(__file__).resolve().parents[1] / "checks" / "catalog"
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TICK = timedelta(minutes=5)

Facts = Mapping[str, Mapping[str, Mapping[str, tuple[Any, str]]]]

#: What a healthy, idle 8 x H200 node measures each tick: item -> subject -> fact -> (value, unit).
HEALTHY_NODE: Facts = {
    "gpu-present": {"": {"gpus_visible": (8, "count"), "gpus_lost": (0, "count")}},
    "gpu-fabric": {
        "": {
            "fabric_states": ("Completed", "text"), "fabric_statuses": ("Success", "text"),
            "cliques": ("0", "text"), "cluster_uuids": ("00000000-0000-0000-0000-000000000000", "text"),
        }
    },
    "sysctl-swappiness": {
        "": {"live": (1, "count"), "configured": (1, "count"), "configured_state": ("set", "text"),
             "configured_by": ("99-gpu.conf:1", "text"), "swap_devices": (1, "count")}
    },
    "sysctl-somaxconn": {
        "": {"live": (65535, "count"), "configured": (65535, "count"), "configured_state": ("set", "text"),
             "configured_by": ("99-gpu.conf:2", "text")}
    },
    "sysctl-syn-backlog": {
        "": {"live": (65535, "count"), "configured": (65535, "count"), "configured_state": ("set", "text"),
             "configured_by": ("99-gpu.conf:3", "text")}
    },
    "sysctl-netdev-backlog": {
        "": {"live": (5000, "packets"), "configured": (5000, "packets"), "configured_state": ("set", "text"),
             "configured_by": ("99-gpu.conf:4", "text"), "softnet_dropped": (12, "packets")}
    },
    "sysctl-file-max": {
        "": {"live": (9223372036854775807, "count"), "configured_state": ("unset", "text")}
    },
    "ulimit-nofile": {
        "": {"soft": (1048576, "count"), "hard": (1048576, "count"), "context": ("job", "text")}
    },
    "ulimit-memlock": {
        "": {"soft": ("unlimited", "bytes"), "hard": ("unlimited", "bytes"), "context": ("job", "text")}
    },
    "cpu-governor": {
        "": {"cpufreq": ("present", "text"), "cpus": (192, "count"), "governed_cpus": (192, "count"),
             "governors": ("performance", "text")}
    },
    "clock-sync": {
        "": {"synchronized": (True, "bool"), "offset": (0.4, "milliseconds"), "source": ("chrony", "text")}
    },
    "persistence-mode": {"": {"gpus_without_persistence": (0, "count")}},
    "mem-oom": {"": {"global_oom_kills_24h": (0, "count"), "memory_total": (2063840, "MiB")}},
    "hung-io": {
        "": {"longest_wait": (0.0, "seconds"), "slowest_mount": (0.0, "seconds"), "failing_mounts": (0, "count")}
    },
    "checkpoint-mount": {
        "": {"mounted": (True, "bool"), "writable": (True, "bool"), "device": ("/dev/nvme1n1", "text"),
             "fstype": ("xfs", "text")}
    },
    "checkpoint-atime": {"": {"atime": ("noatime", "text"), "fstype": ("xfs", "text")}},
}  # fmt: skip
HEALTHY_GPU: Mapping[str, Mapping[str, tuple[Any, str]]] = {
    "gpu-clean": {"foreign_processes": (0, "count"), "job_processes": (0, "count"), "memory_used": (0, "MiB"),
                  "mig_enabled": (False, "bool"), "compute_mode": ("Default", "text")},
    "gpu-ecc": {"ecc_enabled": (True, "bool"), "volatile_uncorrectable": (0, "count"),
                "volatile_correctable": (0, "count"), "aggregate_sram_uncorrectable": (0, "count"),
                "sram_threshold_exceeded": (False, "bool"), "remap_pending": (False, "bool"),
                "remap_failed": (False, "bool")},
    "gpu-temperature": {"temperature": (34, "celsius"), "tlimit": (53, "celsius"), "utilization": (0, "percent")},
    "gpu-clock-throttle": {"hw_slowdown_active": (False, "bool"), "hw_thermal": (0, "microseconds"),
                           "power_brake": (0, "microseconds"), "sw_thermal": (0, "microseconds"),
                           "sw_power_cap": (0, "microseconds"), "sm_clock": (345, "MHz"),
                           "utilization": (0, "percent")},
    "gpu-pcie-width": {"width": (16, "lanes"), "width_max": (16, "lanes")},
    "gpu-pcie-generation": {"generation": (1, "count"), "generation_max": (5, "count"),
                            "utilization": (0, "percent")},
}  # fmt: skip
HEALTHY_GPU_DAILY: Mapping[str, Mapping[str, tuple[Any, str]]] = {
    "gpu-firmware": {"vbios": ("96.00.A5.00.03", "text"), "inforom": ("G520.0280.00.05", "text"),
                     "part_number": ("692-2G520-0280-000", "text")},
}  # fmt: skip


@cache
def known_catalogue() -> Path:
    """The shipped catalogue, with those items in shadow that no machine here measures.

    A probe that learns a new item thus makes no report of these tests short.
    """
    place = Path(tempfile.mkdtemp(prefix="countersign-tests-"))
    atexit.register(shutil.rmtree, place)
    shutil.copytree(SHIPPED, place / "catalog")
    measured = {*HEALTHY_NODE, *HEALTHY_GPU, *HEALTHY_GPU_DAILY}
    for file in (place / "catalog").glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        for key, item in tomllib.loads(text).items():
            if key not in measured and isinstance(item, dict) and not item.get("shadow"):
                text = text.replace(f"[{key}]\n", f"[{key}]\nshadow = true\n", 1)
        file.write_text(text, encoding="utf-8")
    return place / "catalog"


def put_catalogue_in_force(path: Path | None = None) -> CatalogVersion:
    """Load the catalogue under *path*, by default `known_catalogue`."""
    loaded = load_catalogue(path=path or known_catalogue(), by=None, now=NOON - TICK)
    return CatalogVersion.objects.get(digest=loaded.digest)


def make_cluster(slug: str = "alpha", *, profile: str = "8xh200", **settings: Any) -> Cluster:
    """A cluster whose rules are those of the catalogue in force; `known_catalogue`'s, when none is yet."""
    if not CatalogVersion.objects.filter(in_force=True).exists():
        put_catalogue_in_force()
    return create_cluster(slug=slug, name=slug.title(), profile=profile, by=None, now=NOON - TICK, **settings)


def enrolment_token(cluster: Cluster, **limits: Any) -> str:
    """The text of a token that enrols machines into *cluster*."""
    return issue_token(kind=TokenKind.ENROLMENT, cluster=cluster, created_by=None, now=NOON - TICK, **limits)[1]


def healthy_facts(*, gpus: int = 8, cadence: str = "tick") -> dict[str, Any]:
    """A copy, free to be changed, of what a healthy node measures."""
    each = HEALTHY_GPU if cadence == "tick" else HEALTHY_GPU_DAILY
    whole = dict(HEALTHY_NODE) if cadence == "tick" else {}
    parts = {item: {f"gpu{place}": dict(facts) for place in range(gpus)} for item, facts in each.items()}
    return deepcopy({**whole, **parts})


@dataclass
class Machine:
    """One enrolled machine: what its agent holds, and a clock that the test turns."""

    cluster: Cluster
    hostname: str
    token: str
    serials: dict[str, str]
    boot_id: str = "boot-1"
    boottime: float = 86_400.0
    origin: str = "live"
    now: datetime = NOON
    sent: list[dict[str, Any]] = field(default_factory=list)

    @property
    def node(self) -> Node:
        """The node as the database holds it now."""
        return Node.objects.get(cluster=self.cluster, hostname=self.hostname)

    @property
    def readiness(self) -> NodeReadiness:
        """The node's summary now."""
        return NodeReadiness.objects.get(node=self.node)

    def state(self, item: str, subject: str = "") -> NodeItemState:
        """One row of the node now."""
        return NodeItemState.objects.get(node=self.node, item=item, subject=subject)

    def sleep(self, span: timedelta = TICK) -> None:
        """Let both clocks run on."""
        self.now += span
        self.boottime += span.total_seconds()

    def reboot(self, boot_id: str) -> None:
        """Start the boot clock anew under another boot id."""
        self.sleep()
        self.boot_id, self.boottime = boot_id, 60.0

    def report(
        self,
        facts: Mapping[str, Any] | None = None,
        *,
        cadence: str = "tick",
        covered: Sequence[str] | None = None,
        problems: Sequence[tuple[str, str | None, str, str]] = (),
        **fields: Any,
    ) -> dict[str, Any]:
        """A report as the agent writes it now; *fields* replace top-level ones."""
        said = healthy_facts(cadence=cadence) if facts is None else facts
        return {
            "schema": 1, "report_id": str(uuid.uuid4()), "agent_version": "0.1.0",
            "node": {"hostname": self.hostname, "boot_id": self.boot_id, "serials": self.serials},
            "started_at": self.now.isoformat(), "finished_at": self.now.isoformat(),
            "clock": {"unix": self.now.timestamp(), "boottime": self.boottime, "ntp_offset_ms": 0.4, "synced": True},
            "cadence": cadence, "plan_etag": None, "origin": self.origin, "captured_at": None,
            "covered": list(said if covered is None else covered),
            "facts": self._facts(said),
            "problems": [dict(zip(("item", "subject", "kind", "detail"), one, strict=True)) for one in problems],
            "evidence": [], "lost": {"spool": 0, "bad": 0},
        } | fields  # fmt: skip

    def push(self, report: Mapping[str, Any] | None = None, *, age_s: float = 0.0, **written: Any) -> Receipt:
        """Have the service record *report*, or one written now, as received now."""
        body = dict(report) if report is not None else self.report(**written)
        self.sent.append(body)
        return record_report(
            bearer=self.token, report=msgspec.convert(body, ReportV1), age_s=age_s, address="127.0.0.1",
            received_at=self.now,
        )  # fmt: skip

    def _facts(self, said: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [
            {"item": item, "subject": subject, "name": name, "value": value, "unit": unit, "observed_at": self.boottime}
            for item, subjects in said.items()
            for subject, facts in subjects.items()
            for name, (value, unit) in facts.items()
        ]


def enrolled_machine(cluster: Cluster, hostname: str = "gpu001", *, origin: str = "live", **known: Any) -> Machine:
    """A machine that has just enrolled."""
    serials = known.pop("serials", {"system": "SYS-1", **{f"gpu{place}": f"GPU-{place:04}" for place in range(8)}})
    enrolment = Enrolment(hostname, serials, "boot-1", "0.1.0", origin)
    enrolled = enrol_node(
        bearer=enrolment_token(cluster), enrolment=enrolment, address="127.0.0.1", now=NOON - timedelta(minutes=1)
    )
    return Machine(cluster, hostname, enrolled.token, serials, origin=origin, **known)
