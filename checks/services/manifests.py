"""What is kept of a signature: the manifest, the leaves behind its digests, the annex, and the texts that it names."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from checks.domain.manifest import Leaf, layer_digest
from checks.domain.package import shared_digest
from checks.domain.verdicts import Cadence, Layer, Severity, Verdict
from checks.models import Manifest, ManifestBlob, NodeItemState, PinnedEvidence, Signature
from checks.selectors.leaves import leaves_of_nodes, packed
from checks.selectors.packages import PackageView, RunState


class LeavesMoved(Exception):
    """Rows changed between reading a node's hash and reading its leaves: what was recomputed is old already."""


def store_manifest(state: RunState, view: PackageView, *, now: datetime) -> Manifest:
    """Keep the package and the leaves behind each of its digests, each once however often it is signed.

    Raises:
        LeavesMoved: a report came in meanwhile.
    """
    package = view.package
    blobs = {package.shared: _shared_leaves(state, view)} | _node_leaves(state, view)
    known = set(ManifestBlob.objects.filter(pk__in=blobs).values_list("pk", flat=True))
    # In one order for all, or two signers of different layers could wait for each other.
    new = [ManifestBlob(digest=key, body=packed(blobs[key])) for key in sorted(blobs.keys() - known)]
    ManifestBlob.objects.bulk_create(new, ignore_conflicts=True)
    manifest = Manifest(
        digest=package.digest, header=package.header, shared=package.shared, nodes=dict(package.nodes), stored_at=now
    )
    Manifest.objects.bulk_create([manifest], ignore_conflicts=True)
    return manifest


def annex_of(state: RunState, view: PackageView, seconds: Mapping[str, int]) -> dict[str, Any]:
    """What is kept beside a signature and not signed: warnings, values and ages, raw texts, who was left out.

    Leaves are ``[item, subject, raw verdict, facts, observed_at]`` by host name; *seconds* is the time that the signer
    spent on each piece of evidence.
    """
    names = {node.uuid: node.hostname for node in state.nodes if node.uuid in view.package.nodes}
    leaves: dict[str, list[list[Any]]] = defaultdict(list)
    warnings: list[list[str]] = []
    evidence: set[str] = set()
    rows = NodeItemState.objects.filter(node__in=list(names), layer=view.layer, shadow=False).exclude(raw=Verdict.NA)
    for row in rows.exclude(cadence=Cadence.START).order_by("node", "item", "subject").iterator():
        host = names[str(row.node_id)]
        evidence.add(row.evidence)
        if row.raw != Verdict.PASS and (row.severity == Severity.WARNING or row.raw == Verdict.WARN):
            warnings.append([host, row.item, row.subject, row.raw, row.detail])
        if row.severity == Severity.BLOCKER:
            leaves[host].append([row.item, row.subject, row.raw, row.value.get("facts", {}), _text(row.observed_at)])
    shared = _shared_annex(state, view.layer, evidence)
    return {
        "leaves": leaves, "shared": shared, "warnings": warnings, "evidence": sorted(evidence - {""}),
        "measured_until": {node.hostname: _ends(node.until) for node in state.nodes if node.uuid in names},
        "left_out": sorted({(one.hostname, one.code) for one in view.blockers if one.hostname}),
        "seconds": dict(seconds),
    }  # fmt: skip


def pin_evidence(signature: Signature, digests: Iterable[str]) -> None:
    """Keep the raw texts that the annex names, for as long as there is a portal."""
    PinnedEvidence.objects.bulk_create([PinnedEvidence(signature=signature, evidence=digest) for digest in digests])


def _shared_leaves(state: RunState, view: PackageView) -> list[Leaf]:
    leaves = [row.leaf for row in state.shared if row.item.layer is view.layer and row.leaf is not None]
    assert shared_digest(leaves) == view.package.shared  # noqa: S101  (both were made of the rows in *state*)
    return leaves


def _node_leaves(state: RunState, view: PackageView) -> dict[str, list[Leaf]]:
    """The leaves behind each node's hash. Nodes alike share one, so that one node of each kind is read."""
    package = view.package
    known = set(ManifestBlob.objects.filter(pk__in=set(package.nodes.values())).values_list("pk", flat=True))
    kinds = {package.nodes[node.uuid]: node for node in state.nodes if node.uuid in package.nodes}
    new = {digest: node for digest, node in kinds.items() if digest not in known}
    found = leaves_of_nodes(state.run, list(new.values()), view.layer)
    for digest, node in new.items():
        if layer_digest(view.layer, found[node.uuid]) != digest:
            raise LeavesMoved
    return {digest: found[node.uuid] for digest, node in new.items()}


def _shared_annex(state: RunState, layer: Layer, evidence: set[str]) -> list[list[Any]]:
    rows = [one.row for one in state.shared if one.item.layer is layer and one.row is not None]
    evidence.update(row.evidence for row in rows)
    return [[row.item, row.subject, row.raw, row.value.get("facts", {}), _text(row.observed_at)] for row in rows]


def _ends(until: Mapping[Cadence, datetime | None]) -> dict[str, str]:
    return {cadence.value: _text(end) for cadence, end in until.items()}


def _text(moment: datetime | None) -> str:
    return moment.isoformat() if moment is not None else ""
