"""Outputs of tools that were kept about a node, newest first."""

import zlib
from uuid import UUID

from checks.models import Node, ToolEvidence


def kept_of(node: Node, *, limit: int) -> list[ToolEvidence]:
    """The newest of them, without their bytes."""
    return list(ToolEvidence.objects.filter(node=node).select_related("by").defer("body")[:limit])


def output_of(node: Node, evidence_id: UUID) -> tuple[ToolEvidence, bytes] | None:
    """One of them with the very bytes that were sent; None where the node has none of that id."""
    found = ToolEvidence.objects.filter(node=node, evidence_id=evidence_id).first()
    return None if found is None else (found, zlib.decompress(bytes(found.body)))
