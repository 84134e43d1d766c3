"""What changed since a signature, item by item: what a signer reads before signing again."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from checks.domain.package import Difference, LeafChange, compare, leaf_changes
from checks.domain.verdicts import Layer
from checks.models import Flip, LedgerEntry, Signature
from checks.selectors.leaves import canonical_leaves, leaves_of_nodes, stored_leaves
from checks.selectors.packages import RunState, manifest_package
from checks.selectors.rules import ruleset_for

#: Of how many nodes the items are told; with more, the rest are told by name.
NODES_TOLD: Final = 64
MOST_TOLD: Final = 50

_ACTS_OF_CLUSTER: Final = (
    "overrides_changed", "profile_changed", "node_profile_changed", "subject_retired", "node_confirmed", "node_retired",
    "policy_approved", "training_env_changed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between what was signed and what is there now.

    *header* are pairs of texts by the name of the part; *nodes* are by host name; *more_nodes* changed too.
    """

    difference: Difference
    header: dict[str, tuple[object, object]] = field(default_factory=dict)
    shared: tuple[LeafChange, ...] = ()
    nodes: dict[str, tuple[LeafChange, ...]] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    more_nodes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.difference != Difference()


def changes_since(state: RunState, layer: Layer, signature: Signature) -> Changes:
    """What changed in *layer* since *signature*; four statements, however much changed."""
    signed, current = manifest_package(signature.manifest, layer), state.packages[layer]
    difference = compare(signed, current)
    names = {node.uuid: node.hostname for node in state.nodes}
    changed = sorted(difference.nodes & current.nodes.keys(), key=lambda uuid: names[uuid])
    told = [node for node in state.nodes if node.uuid in changed[:NODES_TOLD]]
    stored = stored_leaves([signed.shared, *(signed.nodes[node.uuid] for node in told)])
    now = leaves_of_nodes(state.run, told, layer)
    shared = [row.leaf for row in state.shared if row.item.layer is layer and row.leaf is not None]
    return Changes(
        difference=difference,
        header={name: (_part(signed.header, name), _part(current.header, name)) for name in difference.header},
        shared=leaf_changes(stored.get(signed.shared, []), canonical_leaves(shared)) if difference.shared else (),
        nodes={
            node.hostname: leaf_changes(stored.get(signed.nodes[node.uuid], []), canonical_leaves(now[node.uuid]))
            for node in told
        },
        gone=tuple(sorted(names.get(uuid, uuid) for uuid in difference.nodes - current.nodes.keys())),
        added=tuple(sorted(names[uuid] for uuid in difference.added)),
        more_nodes=tuple(names[uuid] for uuid in changed[NODES_TOLD:]),
    )


def _part(header: object, name: str) -> object:
    """A part of a header by its dotted name; None where it is not there."""
    for key in name.split("."):
        header = header.get(key) if isinstance(header, dict) else None
    return header


@dataclass(frozen=True, slots=True)
class Recently:
    """What happened to a layer of a run since a moment: flips of its nodes' blockers, and acts of people."""

    flips: tuple[Flip, ...] = ()
    acts: tuple[LedgerEntry, ...] = ()


def recently(state: RunState, layer: Layer, *, since: datetime) -> Recently:
    """What a signer's page did not show yet, the newest first and at most fifty of each; two statements."""
    items = {key for key, item in ruleset_for(state.run.cluster).items.items() if item.layer is layer}
    nodes = [UUID(node.uuid) for node in state.nodes]
    flips = Flip.objects.filter(node__in=nodes, item__in=items, at__gte=since).select_related("node").order_by("-at")
    acts = LedgerEntry.objects.filter(cluster_id=state.run.cluster_id, at__gte=since).exclude(what="signed")
    mine = acts.filter(what__in=_ACTS_OF_CLUSTER) | acts.filter(target=state.run.slug)
    mine |= acts.filter(target__startswith=f"{state.run.slug}/")
    return Recently(tuple(flips[:MOST_TOLD]), tuple(mine.order_by("-seq")[:MOST_TOLD]))
