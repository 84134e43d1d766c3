"""What there is to sign of a run, and what its signatures amount to: one reading for screen, API, gate, certificate.

Nothing here is stored anywhere: a state is a function of the rows and of *now*, so no job's delay opens a hole.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from checks.domain.answers import Why
from checks.domain.package import Header, Package, WaiverFacts, shared_digest
from checks.domain.policy import LayerPolicy
from checks.domain.signoff import LayerState, SignatureFacts, SignState, layer_state, restart_until
from checks.domain.verdicts import Layer, Verdict
from checks.models import Manifest, Run, Signature
from checks.selectors.blockers import SignBlocker
from checks.selectors.contributors import Contributors, contributors_of
from checks.selectors.delegations import is_in_force
from checks.selectors.gate_context import GateCluster
from checks.selectors.gate_rows import odd_among
from checks.selectors.policies import PolicyInForce, policy_in_force
from checks.selectors.pool_rows import (
    PoolNode,
    by_node,
    evidence_ends,
    odd_blockers,
    pool_nodes,
    row_blockers,
    settled_failures,
    whole_node_blockers,
)
from checks.selectors.roles import held_since
from checks.selectors.shared_rows import SharedItem, shared_blockers, shared_rows
from checks.selectors.waivers import waivers_in_force


@dataclass(frozen=True)
class RunState:
    """A run at one time: its policy, what there is to sign of each layer, who signed, and what that amounts to.

    *packages* are over every node of the pool that is not retired. *signatures* are all there ever were, oldest first.
    """

    run: Run
    now: datetime
    policy: PolicyInForce
    nodes: tuple[PoolNode, ...]
    shared: tuple[SharedItem, ...]
    waivers: tuple[WaiverFacts, ...]
    packages: Mapping[Layer, Package]
    signatures: Mapping[Layer, tuple[Signature, ...]]
    signed_packages: Mapping[str, Package]
    contributors: Mapping[Layer, Contributors]
    layers: Mapping[Layer, LayerState]

    @property
    def signed(self) -> bool:
        """Whether every layer is signed."""
        return all(state.signed for state in self.layers.values())

    @cached_property
    def interval(self) -> timedelta:
        """How often the cluster's nodes report."""
        return timedelta(seconds=self.run.cluster.interval_s)

    @cached_property
    def odd(self) -> tuple[Why, ...]:
        """Nodes of the pool that differ from their like; one statement, the first time."""
        living = [node.hostname for node in self.nodes if not node.retired]
        return odd_among(GateCluster.of(self.run.cluster), living, now=self.now)

    @property
    def restart_until(self) -> datetime:
        """Until when the run may come back once it was started on these signatures."""
        return restart_until(self.run.planned_start, self.run.planned_end)


@dataclass(frozen=True, slots=True)
class PackageView:
    """What one layer's signer signs now, and why not where not.

    *package* holds the nodes that can be signed, *left_out* names the others; *blockers* of the shared branch are those
    without a node. *evidence_ends* is when the first evidence ends that does not renew itself.
    """

    layer: Layer
    package: Package
    state: LayerState
    policy: LayerPolicy
    signable: bool
    blockers: tuple[SignBlocker, ...]
    left_out: tuple[PoolNode, ...]
    evidence_ends: datetime | None


def run_state(run: Run, *, now: datetime) -> RunState:
    """What the signatures of every layer of *run* amount to at *now*, in a number of statements that does not grow."""
    policy, nodes, shared = policy_in_force(run.cluster), pool_nodes(run), shared_rows(run)
    waivers = waivers_in_force(run, now=now)
    failed = settled_failures(nodes, waivers)
    packages = packages_of(run, policy.policy.digest, nodes, shared, waivers, failed)
    signatures = _signatures(run)
    signed = _signed_packages(signatures)
    contributors = contributors_of(run, nodes, policy.policy, now=now)
    facts = _facts(run, signatures, contributors, now)
    layers = {
        layer: layer_state(facts[layer], packages[layer], signed, policy.policy.layers[layer], run.nodes_needed, now)
        for layer in Layer
    }
    return RunState(
        run, now, policy, nodes, shared, waivers, packages, signatures, signed, contributors, layers
    )  # fmt: skip


def packages_of(
    run: Run,
    policy: str,
    nodes: Collection[PoolNode],
    shared: Collection[SharedItem],
    waivers: Collection[WaiverFacts],
    failed: Collection[tuple[str, str]],
) -> dict[Layer, Package]:
    """What there is to sign of each layer, under the *policy* with that digest.

    *failed* are (item, node uuid) of nodes that settled so under a waiver.
    """
    spec = run_spec(run, nodes)
    every = {*failed, *((one.item.key, "") for one in shared if one.row and one.row.settled == Verdict.FAIL)}
    covering = [one for one in waivers if any(one.covers(item=item, node=node) for item, node in every)]
    living = [node for node in nodes if not node.retired]
    return {
        layer: Package(
            layer=layer,
            header=Header(spec, policy, tuple(one for one in covering if one.layer is layer)).as_json(),
            shared=shared_digest(one.leaf for one in shared if one.item.layer is layer and one.leaf is not None),
            nodes={node.uuid: node.digests[layer] for node in living if layer in node.digests},
        )
        for layer in Layer
    }


def current_package(run: Run, layer: Layer, *, now: datetime) -> PackageView:
    """What there is to sign of one layer now."""
    return package_view(run_state(run, now=now), layer)


def current_packages(run: Run, *, now: datetime) -> dict[Layer, PackageView]:
    """What there is to sign of every layer now."""
    state = run_state(run, now=now)
    return {layer: package_view(state, layer) for layer in Layer}


def package_view(state: RunState, layer: Layer) -> PackageView:
    """One layer as its signers see it; two statements on top of *state*, and one for all layers."""
    waivers = [waiver for waiver in state.waivers if waiver.layer is layer]
    of_nodes = [
        *whole_node_blockers(state.nodes, state.run, layer, state.now),
        *row_blockers(state.nodes, layer, waivers, state.now),
        *odd_blockers(state.odd, state.nodes, layer, waivers),
    ]
    of_all = [*shared_blockers(state.shared, layer, waivers, interval=state.interval, now=state.now)]
    blocked = by_node(of_nodes)
    able = [node.uuid for node in state.nodes if node.uuid not in blocked]
    package = _proposed(state, layer, able)
    return PackageView(
        layer=layer,
        package=package,
        state=state.layers[layer],
        policy=state.policy.policy.layers[layer],
        signable=not of_all and len(package.nodes) >= state.run.nodes_needed,
        blockers=(*of_all, *of_nodes),
        left_out=tuple(node for node in state.nodes if node.uuid not in package.nodes),
        evidence_ends=_ends(state, layer, package),
    )


def contributors(run: Run, layer: Layer, *, now: datetime) -> Contributors:
    """Who had a hand in what there is to sign of *layer* now, and what they did."""
    return contributors_of(run, pool_nodes(run), policy_in_force(run.cluster).policy, now=now)[layer]


def run_spec(run: Run, nodes: Iterable[PoolNode]) -> dict[str, object]:
    """What the run is to be, as it is signed."""
    given: dict[str, object] = {
        "slug": run.slug, "cluster": run.cluster.slug, "pool": sorted(node.uuid for node in nodes),
        "nodes_needed": run.nodes_needed, "world_size": run.world_size, "layout": run.layout,
        "model": run.model_name, "parameters": run.parameters, "bytes_per_parameter": run.bytes_per_parameter,
        "dataset": run.dataset, "artefacts": run.artefacts, "planned_start": _text(run.planned_start),
        "planned_end": _text(run.planned_end),
        "restart_until": _text(restart_until(run.planned_start, run.planned_end)),
    }  # fmt: skip
    return {name: held for name, held in given.items() if held is not None}


def manifest_package(manifest: Manifest, layer: Layer) -> Package:
    """A stored manifest as the domain reads it."""
    return Package(layer, manifest.header, manifest.shared, manifest.nodes)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _signatures(run: Run) -> dict[Layer, tuple[Signature, ...]]:
    found = Signature.objects.filter(package__run=run).order_by("id").select_related(
        "package", "signer", "revocation__by", "delegation__end", "delegation__giver"
    )  # fmt: skip
    every = list(found.defer("annex"))  # megabytes, for the page of one signature
    return {layer: tuple(one for one in every if one.package.layer == layer) for layer in Layer}


def _signed_packages(signatures: Mapping[Layer, tuple[Signature, ...]]) -> dict[str, Package]:
    """What the newest round of each layer signed; older rounds count no more and need no comparison."""
    newest = {
        one.manifest_id: layer
        for layer, every in signatures.items()
        for one in every
        if one.round == every[-1].round
    }  # fmt: skip
    return {
        manifest.digest: manifest_package(manifest, newest[manifest.digest])
        for manifest in Manifest.objects.filter(pk__in=newest)
    }


def _facts(
    run: Run,
    signatures: Mapping[Layer, tuple[Signature, ...]],
    contributors: Mapping[Layer, Contributors],
    now: datetime,
) -> dict[Layer, list[SignatureFacts]]:
    every = [one for found in signatures.values() for one in found]
    people = {one.signer_id for one in every} | {one.delegation.giver_id for one in every if one.delegation}
    held = held_since(people, run.cluster)
    return {
        layer: [_fact(one, held, one.signer_id in contributors[layer], now) for one in found]
        for layer, found in signatures.items()
    }


def _fact(one: Signature, held: Mapping[tuple[int, str], datetime], contributor: bool, now: datetime) -> SignatureFacts:
    delegation = one.delegation
    return SignatureFacts(
        id=one.pk, role=one.role, signer=str(one.signer_id), digest=one.manifest_id, round=one.round,
        signed_at=one.signed_at, expires_at=one.expires_at, revoked=hasattr(one, "revocation"),
        active=one.signer.is_active, holds_role=(one.signer_id, one.role) in held,
        delegation_ok=delegation is None
        or (is_in_force(delegation, now=now) and (delegation.giver_id, one.role) in held),
        contributor=contributor,
    )  # fmt: skip


def _proposed(state: RunState, layer: Layer, able: Collection[str]) -> Package:
    """What is signed now: every node that can be; but what a first signer signed, while all of that can be."""
    whole, standing = state.packages[layer], state.layers[layer]
    first = state.signed_packages.get(standing.digest) if standing.state is SignState.HALF else None
    if first is not None and first.nodes.keys() <= set(able):
        same = whole.only(first.nodes)
        if same.digest == first.digest:
            return same
    return whole.only(uuid for uuid in able if uuid in whole.nodes)


def _ends(state: RunState, layer: Layer, package: Package) -> datetime | None:
    of_nodes = evidence_ends([node for node in state.nodes if node.uuid in package.nodes], layer)
    of_all = [
        end
        for row in state.shared
        if row.item.layer is layer and not row.renews_itself and (end := row.ends(state.interval)) is not None
    ]
    return min([*of_nodes.values(), *of_all], default=None)
