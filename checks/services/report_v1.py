"""A report as the wire carries it (``report.v1.json``), decoded by type: microseconds, and nothing unknown gets in."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

from msgspec import Meta, Struct

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Subject: TypeAlias = Annotated[str, Meta(max_length=64)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
BootSeconds: TypeAlias = Annotated[float, Meta(ge=0)]
# With a time zone: without one, a time says something else on every machine.
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
ReportCadence: TypeAlias = Literal["tick", "daily", "offline", "run", "start", "check"]


class NodeV1(Struct, forbid_unknown_fields=True, frozen=True):
    """Which machine speaks. *serials*: slot -> serial, only of slots that could be read."""

    hostname: Annotated[str, Meta(min_length=1, max_length=253)]
    boot_id: Name
    serials: Annotated[dict[Name, Annotated[str, Meta(max_length=128)]], Meta(max_length=256)]


class ClockV1(Struct, forbid_unknown_fields=True, frozen=True):
    """The node's clocks when the report was written: seconds since 1970, and since the boot."""

    unix: float
    boottime: BootSeconds
    ntp_offset_ms: float | None = None
    synced: bool | None = None


class FactV1(Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """One measured value; *observed_at* in boot-clock seconds of the report's boot."""

    item: Name
    subject: Subject
    name: Name
    value: bool | int | float | Annotated[str, Meta(max_length=1024)]
    unit: Annotated[str, Meta(min_length=1, max_length=16)]
    observed_at: BootSeconds


class ProblemV1(Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """Why something could not be measured; subject None or ``*`` means every subject of the item."""

    item: Name
    subject: Subject | None
    kind: Literal["missing", "hung", "denied", "unreadable", "not_captured", "error"]
    detail: Annotated[str, Meta(max_length=1024)]


class EvidenceV1(Struct, forbid_unknown_fields=True, frozen=True):
    """Raw text that *items* were read from."""

    probe: Name
    text: Annotated[str, Meta(max_length=4096)]
    truncated: bool
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    items: Annotated[list[Name], Meta(max_length=512)]


class LostV1(Struct, forbid_unknown_fields=True, frozen=True):
    """Reports that never arrived: dropped from a full spool, or refused."""

    spool: Count
    bad: Count


class ReportV1(Struct, forbid_unknown_fields=True, frozen=True):
    """One push of facts from one node."""

    schema: Literal[1]
    report_id: UUID
    agent_version: Annotated[str, Meta(min_length=1, max_length=32)]
    node: NodeV1
    started_at: Moment
    finished_at: Moment
    clock: ClockV1
    cadence: ReportCadence
    origin: Literal["live", "replay"]
    covered: Annotated[list[Name], Meta(max_length=512)]
    facts: Annotated[list[FactV1], Meta(max_length=10_000)]
    problems: Annotated[list[ProblemV1], Meta(max_length=2_000)]
    evidence: Annotated[list[EvidenceV1], Meta(max_length=512)]
    lost: LostV1
    plan_etag: Annotated[str, Meta(max_length=128)] | None = None
    captured_at: Moment | None = None
