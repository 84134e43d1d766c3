"""Run evidence as the wire carries it (``run-evidence.v1.json``), decoded by type: nothing unknown gets in."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from checks.services.report_v1 import EvidenceV1, Moment, Name

Tool = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9 ._-]*\Z")]
Detail = Annotated[str, Meta(max_length=1024)]


class RunFactV1(Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """One value that an audit read."""

    item: Name
    name: Name
    value: bool | int | float | Detail
    unit: Annotated[str, Meta(min_length=1, max_length=16)]


class RunProblemV1(Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """Why (a part of) an item could not be told."""

    item: Name
    kind: Literal["missing", "denied", "unreadable", "error", "not_captured"]
    detail: Detail


class ArtefactV1(Struct, forbid_unknown_fields=True, frozen=True):
    """One file that was read."""

    name: Annotated[str, Meta(min_length=1, max_length=150)]
    digest: Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]


class RunEvidenceV1(Struct, forbid_unknown_fields=True, frozen=True):
    """What one audit found about one run."""

    schema: Literal[1]
    evidence_id: UUID
    tool: Tool
    agent_version: Annotated[str, Meta(min_length=1, max_length=32)]
    hostname: Annotated[str, Meta(min_length=1, max_length=253)]
    finished_at: Moment
    covered: Annotated[list[Name], Meta(min_length=1, max_length=128)]
    facts: Annotated[list[RunFactV1], Meta(max_length=2_000)]
    problems: Annotated[list[RunProblemV1], Meta(max_length=500)]
    evidence: Annotated[list[EvidenceV1], Meta(max_length=128)]
    artefacts: Annotated[list[ArtefactV1], Meta(max_length=100)]
