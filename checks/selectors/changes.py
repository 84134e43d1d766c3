"""What changed since a signature, item by item: what a signer reads before signing again."""

from dataclasses import dataclass, field
from typing import Final

from checks.domain.package import Difference, LeafChange, compare, leaf_changes
from checks.domain.verdicts import Layer
from checks.models import Signature
from checks.selectors.leaves import canonical_leaves, leaves_of_nodes, stored_leaves
from checks.selectors.packages import RunState, manifest_package

#: Of how many nodes the items are told; with more, the rest are told by name.
NODES_TOLD: Final = 64


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
