"""What a run's nodes, and what no node holds, are now and were not when it was signed; only a restart asks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from checks.domain.launch_facts import IdentityChange, identity_changes
from checks.domain.units import Scalar
from checks.domain.verdicts import Layer
from checks.selectors.leaves import StoredLeaf
from checks.selectors.packages import RunState
from checks.selectors.run_rows import LaunchRows, read_changed
from checks.selectors.shared_rows import SharedItem

#: Identity values by name.
Identity: TypeAlias = Mapping[str, Scalar]


def identities_changed(
    rows: LaunchRows, state: RunState, nodes: Sequence[str] | None
) -> tuple[list[IdentityChange], bool]:
    """Identity values of the asked nodes, and of what no node holds, that are not the signed ones; and whether they
    are of the same moment.

    What has the signed hash has the signed values: the hash covers them. Only the rest is looked at.
    """
    basis = rows.run.started.basis if rows.run and rows.run.started else []
    signed = {part.layer: state.signed_packages[part.digest] for part in basis}
    asked = [node for node in state.nodes if nodes is None or node.hostname in nodes]
    differing = [
        (layer, node, package.nodes[node.uuid])
        for layer, package in signed.items()
        for node in asked
        if node.uuid in package.nodes and node.digests.get(layer) != package.nodes[node.uuid]
    ]
    shared = {layer: one.shared for layer, one in signed.items() if one.shared != state.packages[layer].shared}
    if not differing and not shared:
        return [], True
    digests = [*shared.values(), *(digest for _, _, digest in differing)]
    changed = read_changed(digests, [node.uuid for _, node, _ in differing])
    leaves, known = changed.stored_leaves(), _known(changed.known or ())
    found = [
        change
        for layer, node, digest in differing
        for change in identity_changes(node.hostname, layer, leaves.get(digest, []), known.get(node.uuid, {}))
    ]
    found += _shared_changes(state.shared, {layer: leaves.get(digest, []) for layer, digest in shared.items()})
    return found, changed.snapshot == rows.snapshot


def _shared_changes(
    shared: Iterable[SharedItem], signed: Mapping[Layer, Iterable[StoredLeaf]]
) -> Iterator[IdentityChange]:
    """Identity values of what no node holds that are not those of the *signed* leaves of each layer."""
    known = {(one.item.key, one.subject): one.row.identity for one in shared if one.row is not None}
    for layer, leaves in signed.items():
        yield from identity_changes("", layer, leaves, known)


def _known(rows: Sequence[tuple[str, str, str, Identity]]) -> dict[str, dict[tuple[str, str], Identity]]:
    found: dict[str, dict[tuple[str, str], Identity]] = {}
    for node, item, subject, identity in rows:
        found.setdefault(node, {})[item, subject] = identity
    return found
