"""A run that can be signed, made as users make one: nodes report, a clerk attests, and four people can sign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from checks.domain.verdicts import Layer, Purpose
from checks.models import Cluster, Role, Run, Signature
from checks.selectors.gate_context import context_of_cluster
from checks.selectors.packages import PackageView, RunState, current_package, run_state
from checks.selectors.run_gate import AskedRun, ask_run
from checks.services.attestations import attest
from checks.services.proofs import Proof
from checks.services.shared_items import derive_shared_items
from checks.services.signing import sign_layer
from portal.accounts.models import User
from tests.audited import audit_run
from tests.fleet import Fleet, make_fleet
from tests.lab import MINUTE, NOON
from tests.link_lab import prove_links
from tests.people import person
from tests.runs import a_run

#: What a clerk states about each attested blocker, read out of checks/catalog/*.toml.
STATED: Mapping[str, Mapping[str, Any]] = {
    "data-spot-check": {"passed_share": 99.7, "documents": 400},
    "ops-storage-gc": {"confirmed": True},
    "ops-shift": {"run_covered": True, "longest_shift": 28_800},
    "ops-runbook": {"confirmed": True},
    "loss-guard": {"confirmed": True},
    "net-topology-map": {"confirmed": True},
    "power-budget": {"feed": 60_000, "cooling": 58_000, "required": 35_000},
}
#: A launcher that binds its processes, and fabric and network under load: what a fleet's idle node lacks.
BOUND: Mapping[str, Any] = {"numa-binding": {"numa_nodes": 2, "bound": True}}
#: Who signs what under the default policy.
SIGNERS: Sequence[tuple[Layer, Role]] = (
    (Layer.PHYSICAL, Role.HARDWARE), (Layer.PHYSICAL, Role.PLATFORM), (Layer.SYSTEM, Role.PLATFORM),
    (Layer.FRAMEWORK, Role.PLATFORM), (Layer.FRAMEWORK, Role.LEAD), (Layer.DATA, Role.DATA), (Layer.DATA, Role.LEAD),
    (Layer.OPERATIONS, Role.LEAD),
)  # fmt: skip


@dataclass
class Signing:
    """One run on three nodes of which it needs two, and its people by role."""

    fleet: Fleet
    run: Run
    clerk: User
    people: dict[str, User] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        """The cluster as it is stored now."""
        return Cluster.objects.get(pk=self.fleet.cluster.pk)

    def view(self, layer: Layer = Layer.PHYSICAL, *, at: datetime = NOON) -> PackageView:
        """What a signer's page shows."""
        return current_package(self.fresh, layer, now=at)

    def state(self, *, at: datetime = NOON) -> RunState:
        """What the signatures amount to."""
        return run_state(self.fresh, now=at)

    def ask(self, nodes: Sequence[str], purpose: Purpose = Purpose.START, *, at: datetime = NOON) -> AskedRun:
        """The gate's question as services ask it."""
        return ask_run(
            context_of_cluster(self.cluster, now=at), run=self.run.slug, nodes=nodes, purpose=purpose, now=at
        )

    @property
    def fresh(self) -> Run:
        """The run as it is stored now."""
        return Run.objects.select_related("cluster", "owner").get(pk=self.run.pk)

    def sign(
        self,
        role: Role,
        layer: Layer = Layer.PHYSICAL,
        *,
        by: User | None = None,
        at: datetime = NOON,
        shown: str | None = None,
        **more: Any,
    ) -> Signature:
        """Sign as somebody does who has just read the page, or who read *shown*."""
        return sign_layer(
            run=self.run, layer=layer, by=by or self.people[role], role=role, meaning="reviewed", comment="",
            shown_digest=shown or self.view(layer, at=at).package.digest, seconds={"gpu-ecc": 12}, now=at,
            **{"proof": proof(at), **more},
        )  # fmt: skip

    def sign_all(self, *, at: datetime = NOON) -> None:
        """Everybody signs everything."""
        for layer, role in SIGNERS:
            self.sign(role, layer, at=at)


def proof(at: datetime = NOON) -> Proof:
    """Somebody who proved to be there a minute before *at*."""
    return Proof("password", at - MINUTE, "192.0.2.7", "Firefox")


def a_signable_run(*, nodes: Sequence[str] = ("gpu001", "gpu002", "gpu003"), at: datetime = NOON) -> Signing:
    """The run, its nodes measured and everything attested by a clerk who signs nothing."""
    fleet = make_fleet(at=at - timedelta(hours=2))
    for name in nodes:
        fleet.enrol(name, at=at - timedelta(hours=1))
        fleet.report(name, at=at - 30 * MINUTE, cadence="daily")
        fleet.report(name, at=at - 29 * MINUTE, cadence="run", changed=BOUND)
        fleet.report(name, at=at - 28 * MINUTE, cadence="offline")
    run = a_run(fleet.cluster, ",".join(nodes))
    prove_links(fleet.cluster, nodes, at=at)
    for minutes in (20, 15, 10, 5, 0):  # long enough under load to prove it, often enough to settle
        for name in nodes:
            tick(fleet, name, at=at - minutes * MINUTE)
    clerk = person("clerk", fleet.cluster, Role.DATA)
    signing = Signing(fleet, run, clerk)
    for role in (Role.HARDWARE, Role.PLATFORM, Role.DATA, Role.LEAD):
        signing.people[role] = person(f"the-{role.value}", fleet.cluster, role)
    audit_run(run, at=at - MINUTE)
    for item, facts in STATED.items():
        state(signing, item, facts, at=at - 2 * MINUTE)
    return signing


def state(
    signing: Signing, item: str, facts: Mapping[str, Any], *, by: User | None = None, at: datetime = NOON
) -> None:
    """Have the clerk (or *by*) state *facts* for three weeks."""
    attest(
        cluster=signing.cluster, run=signing.run, node=None, item=item, subject="", facts=facts,
        statement=f"Looked at {item}.", files=[], valid_until=at + timedelta(days=21), by=by or signing.clerk, now=at,
    )  # fmt: skip


def tick(fleet: Fleet, hostname: str, *, at: datetime, changed: Mapping[str, Any] | None = None, **more: Any) -> None:
    """One full report of a node that trains at *at*; ten million packets have passed each second."""
    busy = {
        "gpu-nvlink-errors": {"utilization": 97},
        "nic-drop-rate": {"packets": int(at.timestamp()) * 10_000_000, "drop_share": 0.0},
    }
    fleet.report(hostname, at=at, changed={**busy, **(changed or {})}, **more)
    derive_shared_items(now=at)
