"""A fleet that reports: every row was judged from facts that went through the front door of the services.

Values of a healthy H200 node are written out here, one by one; a test changes what it is about.
"""

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from checks.domain.items import Item, Operator
from checks.domain.units import Kind
from checks.models import CatalogVersion, Cluster, Node, Role, TokenKind
from checks.selectors.rules import ruleset_for
from checks.services.clusters import create_cluster
from checks.services.enrolment import Enrolment, enrol_node
from checks.services.people import grant_role
from checks.services.report_v1 import ReportV1
from checks.services.reports import record_report
from checks.services.tokens import issue_token
from portal.accounts.models import User
from tests.lab import our_catalogue

PASSWORD = "correct horse battery staple"
BOOTED_BEFORE_S = 86_400.0

Facts = Mapping[str, Any]

_SYSCTL = {"configured_state": "set", "configured_by": "/etc/sysctl.d/90-training.conf:3"}
HEALTHY: dict[str, Facts] = {
    "gpu-present": {"gpus_visible": 8, "gpus_lost": 0},
    "gpu-clean": {
        "foreign_processes": 0, "job_processes": 0, "memory_used": 4, "mig_enabled": False, "compute_mode": "Default",
    },
    "gpu-ecc": {
        "ecc_enabled": True, "volatile_uncorrectable": 0, "volatile_correctable": 0, "aggregate_sram_uncorrectable": 0,
        "sram_threshold_exceeded": False, "remap_pending": False, "remap_failed": False,
    },
    "gpu-temperature": {"temperature": 61, "utilization": 97},
    "gpu-clock-throttle": {
        "hw_slowdown_active": False, "hw_thermal": 0, "power_brake": 0, "sw_thermal": 0, "sw_power_cap": 0,
        "sm_clock": 1830, "utilization": 97,
    },
    "gpu-pcie-width": {"width": 16, "width_max": 16},
    "gpu-pcie-generation": {"generation": 5, "generation_max": 5, "utilization": 97},
    "gpu-fabric": {
        "fabric_states": "Completed", "fabric_statuses": "Success", "cliques": "0", "cluster_uuids": "0",
    },
    "gpu-firmware": {"vbios": "96.00.89.00.01", "inforom": "G520.0200.00.05", "part_number": "900-21010-0040-000"},
    "gpu-xid": {"xids": "none", "nonfatal_xids": "none", "off_bus": False, "recovery_action": "None"},
    "driver-cuda-match": {
        "driver": "570.172.08", "user_driver": "570.172.08", "environment": "job",
        "cuda_runtime": "12.8", "compat_loaded": False,
    },
    "persistence-mode": {"gpus_without_persistence": 0},
    "sysctl-swappiness": {"live": 1, "configured": 1, "swap_devices": 1, **_SYSCTL},
    "sysctl-somaxconn": {"live": 65535, "configured": 65535, **_SYSCTL},
    "sysctl-syn-backlog": {"live": 65535, "configured": 65535, **_SYSCTL},
    "sysctl-netdev-backlog": {"live": 250000, "configured": 250000, "softnet_dropped": 17, **_SYSCTL},
    "sysctl-file-max": {"live": 9223372036854775807, "configured_state": "unset"},
    "ulimit-nofile": {"soft": 1048576, "hard": 1048576, "context": "limits.d"},
    "ulimit-memlock": {"soft": "unlimited", "hard": "unlimited", "context": "limits.d"},
    "numa-binding": {"numa_nodes": 2},
    "cpu-governor": {"cpufreq": "present", "cpus": 192, "governed_cpus": 192, "governors": "performance"},
    "clock-sync": {"synchronized": True, "offset": 0.4, "source": "chrony"},
    "mem-oom": {"global_oom_kills_24h": 0, "memory_total": 2063800},
    "hung-io": {"longest_wait": 0.0, "slowest_mount": 0.0, "failing_mounts": 0},
    "checkpoint-mount": {"mounted": True, "writable": True, "device": "nvme-raid", "fstype": "xfs"},
    "checkpoint-atime": {"atime": "noatime", "fstype": "xfs"},
    "object-store-upload": {
        "mean_rate": 210.0, "failed_share": 0.02, "requests": 3072, "uploaded": 10_737_418_240,
    },
    "room-environment": {"inlet": 23, "alarms": 0},
    "rendezvous": {"master": "gpu001:29500", "resolves": True, "reaches": True, "socket_interfaces": 1},
    "python-env-uniform": {"environment": "sha256:" + "e1" * 32},
    "image-uniform": {"present": True, "digest": "sha256:" + "a7" * 32},
    "net-switch-qos": {"link_layer": "InfiniBand"},
}  # fmt: skip

#: An item that no node holds, told of the cards of this one.
_ON_CARDS = {"net-switch-qos": "rdma-link"}


@dataclass
class Fleet:
    """One cluster and the tokens of its nodes."""

    cluster: Cluster
    enrolment: str
    tokens: dict[str, str] = field(default_factory=dict)

    def node(self, hostname: str) -> Node:
        """The node as it is stored now."""
        return Node.objects.select_related("cluster", "readiness").get(cluster=self.cluster, hostname=hostname)

    def enrol(self, hostname: str, *, at: datetime, switch: str = "", origin: str = "live") -> Node:
        """Enrol one machine, never measured yet."""
        asked = Enrolment(
            hostname=hostname, serials={"system": f"S-{hostname}"}, boot_id=f"boot-{hostname}", agent_version="0.1.0",
            origin=origin,
        )  # fmt: skip
        enrolled = enrol_node(bearer=self.enrolment, enrolment=asked, address="127.0.0.1", now=at)
        self.tokens[hostname] = enrolled.token
        Node.objects.filter(pk=enrolled.node.pk).update(switch=switch)
        return self.node(hostname)

    def report(
        self,
        hostname: str,
        *,
        at: datetime,
        cadence: str = "tick",
        changed: Mapping[str, Facts] | None = None,
        subjects: Mapping[str, Sequence[str]] | None = None,
        problems: Mapping[str, tuple[str, str]] | None = None,
        evidence: Mapping[str, str] | None = None,
        origin: str = "live",
    ) -> None:
        """One full report: healthy but for what is *changed* (on *subjects*, or all) and what could not be measured."""
        node = self.node(hostname)
        rules = ruleset_for(node.cluster, node)
        covered = rules.planned(cadence)  # type: ignore[arg-type]
        changed = {"rendezvous": self._meeting(hostname), **(changed or {})}
        problems = dict(problems or {})
        boottime = BOOTED_BEFORE_S + at.timestamp() % 1e6
        facts = [
            _fact(item, subject, name, value, _unit(rules.items[item], name, value), boottime)
            for item in covered
            if item not in problems
            for subject in rules.subjects(_ON_CARDS.get(item, item))
            for name, value in _facts(rules.items[item], subject, changed or {}, subjects or {}).items()
        ]
        body = {
            "schema": 1, "report_id": str(uuid.uuid4()), "agent_version": "0.1.0",
            "node": {"hostname": hostname, "boot_id": f"boot-{hostname}", "serials": {"system": f"S-{hostname}"}},
            "started_at": at.isoformat(), "finished_at": at.isoformat(),
            "clock": {"unix": at.timestamp(), "boottime": boottime}, "cadence": cadence, "origin": origin,
            "captured_at": (at - timedelta(days=3)).isoformat() if origin == "replay" else None,
            "covered": list(covered), "facts": facts,
            "problems": [{"item": item, "subject": None, "kind": kind, "detail": detail}
                         for item, (kind, detail) in problems.items()],
            "evidence": [_evidence(item, text) for item, text in (evidence or {}).items()],
            "lost": {"spool": 0, "bad": 0},
        }  # fmt: skip
        record_report(
            bearer=self.tokens[hostname], report=msgspec.convert(body, ReportV1), age_s=0.0, address="127.0.0.1",
            received_at=at,
        )  # fmt: skip

    def _meeting(self, hostname: str) -> Facts:
        """All ranks meet on the first node, whose port is free."""
        master = {"is_master": True, "port_in_use": False} if hostname == min(self.tokens) else {"is_master": False}
        return {**HEALTHY["rendezvous"], **master}


def make_fleet(slug: str = "helios", *, at: datetime, profile: str = "8xh200", accept_replay: bool = False) -> Fleet:
    """A cluster under the shipped catalogue, with a token to enrol nodes."""
    catalogue = our_catalogue()
    stored = {"version": catalogue.version, "document": catalogue.as_json(), "loaded_at": at, "in_force": True}
    CatalogVersion.objects.get_or_create(digest=catalogue.digest, defaults=stored)
    cluster = create_cluster(
        slug=slug,
        name=slug.title(),
        profile=profile,
        by=None,
        now=at,
        provider="Frankfurt",
        accept_replay=accept_replay,
    )
    _token, secret = issue_token(kind=TokenKind.ENROLMENT, cluster=cluster, created_by=None, now=at)
    return Fleet(cluster, secret)


def healthy_nodes(fleet: Fleet, hostnames: Iterable[str], *, at: datetime, switch: str = "") -> None:
    """Nodes that reported everything, under load for long enough to prove it, the last time at *at*."""
    for hostname in hostnames:
        fleet.enrol(hostname, at=at - timedelta(hours=1), switch=switch)
        fleet.report(hostname, at=at - timedelta(minutes=11), cadence="daily")
        for minutes in (6, 0):
            fleet.report(hostname, at=at - timedelta(minutes=minutes))


def person(username: str, cluster: Cluster | None = None, role: Role | None = None, **columns: Any) -> User:
    """Somebody who can sign in, with one role in one cluster where both are given."""
    user = User.objects.create_user(username=username, password=PASSWORD, **columns)
    if cluster is not None and role is not None:
        grant_role(user=user, cluster=cluster, role=role, by=None, now=datetime.now(UTC))
    return user


def _facts(item: Item, subject: str, changed: Mapping[str, Facts], subjects: Mapping[str, Sequence[str]]) -> Facts:
    touched = item.key in changed and subject in subjects.get(item.key, [subject])
    return {**healthy_facts(item), **(changed[item.key] if touched else {})}


def healthy_facts(item: Item) -> Facts:
    """What a healthy node says of *item*."""
    return HEALTHY.get(item.key) or facts_at_thresholds(item)


# Operators that zero, no or any text meets.
_MET_BY_NOTHING = frozenset({
    Operator.DELTA_OVER, Operator.SUSTAINED, Operator.NE, Operator.NOT_IN, Operator.BITMASK,
})  # fmt: skip


def facts_at_thresholds(item: Item) -> Facts:
    """Facts that meet an item which is not written out above: each at its threshold, or just on its good side."""
    neutral = {Kind.NUMBER: 0, Kind.BOOL: False, Kind.TEXT: "x"}
    facts: dict[str, Any] = {name: neutral[unit.kind] for name, unit in item.facts.items()}
    for criterion in item.criteria:
        if criterion.threshold is None or criterion.operator in _MET_BY_NOTHING:
            continue
        threshold = criterion.threshold[0] if isinstance(criterion.threshold, tuple) else criterion.threshold
        step = {Operator.LT: -1, Operator.GT: 1}.get(criterion.operator, 0)
        facts[criterion.fact] = threshold + step if step and not isinstance(threshold, str) else threshold
    return facts


def _unit(item: Item, name: str, value: Any) -> str:
    """As the catalogue states it; of what nodes say for a whole cluster, by what it is."""
    return item.facts[name].value if name in item.facts else {bool: "bool", int: "count", str: "text"}[type(value)]


def _fact(item: str, subject: str, name: str, value: Any, unit: str, boottime: float) -> dict[str, Any]:
    fact = {"item": item, "subject": subject, "name": name, "value": value, "unit": unit}
    return {**fact, "observed_at": boottime}


def _evidence(item: str, text: str) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"probe": item.split("-")[0], "text": text, "truncated": False, "sha256": digest, "items": [item]}
