"""The leaves behind a digest: as they stand in the rows now, and as they were stored when they were signed."""

import json
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from checks.domain.canonical import canonical_bytes
from checks.domain.manifest import Leaf, has_leaf
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Layer, Severity, Verdict
from checks.models import ManifestBlob, NodeItemState, Run
from checks.selectors.pool_rows import PoolNode
from checks.selectors.rules import rules_in_force

#: A leaf as it is stored, see `Leaf.as_json`.
StoredLeaf = Mapping[str, Any]

_COLUMNS: Final = ("node_id", "item", "subject", "settled", "identity", "epoch")


def leaves_of_nodes(run: Run, nodes: Collection[PoolNode], layer: Layer) -> dict[str, list[Leaf]]:
    """The leaves of *layer* of each of the *nodes* by uuid, as their rows stand now. One statement."""
    rules = {node.uuid: _rules_of(run, node) for node in nodes}
    found: dict[str, list[Leaf]] = {uuid: [] for uuid in rules}
    rows = NodeItemState.objects.filter(node__in=list(rules), layer=layer, severity=Severity.BLOCKER, shadow=False)
    for node_id, key, subject, settled, identity, epoch in rows.exclude(settled="").values_list(*_COLUMNS):
        item = rules[str(node_id)].items.get(key)
        if item is not None and has_leaf(item):
            found[str(node_id)].append(Leaf(item, subject, Verdict(settled), identity, epoch))
    return found


def stored_leaves(digests: Iterable[str]) -> dict[str, list[StoredLeaf]]:
    """The leaves that were stored under each of the *digests*; one that is not there is left out. One statement."""
    blobs = ManifestBlob.objects.filter(pk__in=set(digests))
    return {blob.digest: json.loads(zlib.decompress(bytes(blob.body))) for blob in blobs}


def packed(leaves: Iterable[Leaf]) -> bytes:
    """Leaves as they are stored: zlib over canonical JSON, in the order in which they are hashed."""
    ordered = sorted(leaves, key=lambda leaf: leaf.order)
    return zlib.compress(canonical_bytes([leaf.as_json() for leaf in ordered]))


def canonical_leaves(leaves: Iterable[Leaf]) -> list[StoredLeaf]:
    """Leaves in the form in which stored ones come back, so that the two can be compared."""
    return list(json.loads(zlib.decompress(packed(leaves))))


def _rules_of(run: Run, node: PoolNode) -> Ruleset:
    return rules_in_force(node.judged_under, cluster_id=run.cluster_id, profile=node.profile)
