"""Runs the statements of ``ingest_sql`` on the connection of the transaction: prepared, JSON in and out, no ORM."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct

from checks.selectors.prepared import Statement, fetch_row
from checks.services import ingest_sql
from checks.services.node_rows import FlipRow, Known, MemoryRow, ReadinessRow, RowKey, StateRow

T = TypeVar("T")


class Presented(Struct, frozen=True):
    """A token's row with its node and cluster: all that the first statement of a report finds."""

    token_id: int
    kind: str
    digest: str
    pepper: int
    expires_at: datetime | None
    revoked_at: datetime | None
    networks: list[str]
    last_used_at: datetime | None
    node_id: UUID
    hostname: str
    serials: dict[str, str]
    unconfirmed_serials: dict[str, str]
    boot_id: str
    boot_since: datetime | None
    past_boots: list[str]
    origin: str
    trouble: str
    retired_at: datetime | None
    agent_version: str
    retired_subjects: dict[str, str]
    cluster_id: int
    cluster: str
    interval_s: int
    poll_after_s: int
    min_settle_gap_s: int
    accept_replay: bool
    closed_at: datetime | None
    profile: str

    @property
    def speaks_for_itself(self) -> bool:
        """Whether the node's own agent brings the report; otherwise others tell what a tool measured on it."""
        return self.token_id != 0


class LockedNode(Struct, frozen=True):
    """A node that is about to be judged again."""

    node_id: UUID
    retired_subjects: dict[str, str]
    cluster_id: int
    cluster: str
    profile: str


class OpenRecheck(Struct, frozen=True):
    """A request to measure items again, not answered yet."""

    id: int
    items: list[str]
    requested_at: datetime


class KnownAtReport(Known):
    """What was known when a report's lock was granted."""

    duplicate: bool
    rechecks: list[OpenRecheck]


class NodeIdentity(Struct):
    """Columns of the node itself that a report may change."""

    boot_id: str
    boot_since: datetime | None
    past_boots: list[str]
    trouble: str
    serials: Mapping[str, str]
    unconfirmed_serials: Mapping[str, str]
    agent_version: str


class OutboxRow(Struct):
    """A task to enqueue with the act; *args* are ids only."""

    task: str
    args: list[str]


class Gone(Struct):
    """A row that the rules do not expect any more."""

    item: str
    subject: str


class Judged(Struct):
    """What judging changed in one node's rows."""

    states: list[StateRow] = msgspec.field(default_factory=list)
    flips: list[FlipRow] = msgspec.field(default_factory=list)
    gone: list[RowKey] = msgspec.field(default_factory=list)


_PRESENTED = msgspec.json.Decoder(Presented)
_LOCKED = msgspec.json.Decoder(LockedNode)
_KNOWN = msgspec.json.Decoder(Known)
_KNOWN_AT_REPORT = msgspec.json.Decoder(KnownAtReport)
_ENCODER = msgspec.json.Encoder()


def lock_by_token(key: str) -> Presented | None:
    """The token of that key with its node, the node locked until the transaction ends; None when there is none."""
    return _one(_PRESENTED, _LOCK, {"key": key})


def lock_told(node_id: UUID) -> Presented | None:
    """A node that others tell of, with its cluster, locked as a report of its own locks it."""
    return _one(_PRESENTED, _LOCK_TOLD, {"node": node_id})


def lock_node(node_id: UUID) -> LockedNode | None:
    """One node, locked as a report locks it."""
    return _one(_LOCKED, _LOCK_NODE, {"node": node_id})


def load_for_report(presented: Presented, *, report_id: UUID, now: datetime) -> KnownAtReport:
    """What is known of the locked node, and whether this report is."""
    found = _one(
        _KNOWN_AT_REPORT,
        _LOAD,
        {"node": presented.node_id, "cluster": presented.cluster_id, "profile": presented.profile,
         "report_id": report_id, "now": now},
    )  # fmt: skip
    assert found is not None  # noqa: S101  (a SELECT without FROM has one row)
    return found


def load_all(node: LockedNode | Presented) -> Known:
    """All that is known of the locked node, rows that nobody ever measured included."""
    found = _one(_KNOWN, _LOAD_ALL, {"node": node.node_id, "cluster": node.cluster_id, "profile": node.profile})
    assert found is not None  # noqa: S101
    return found


def write_report(
    *,
    judged: Judged,
    memory: Sequence[MemoryRow],
    evidence: Sequence[Struct],
    identity: NodeIdentity | None,
    readiness: ReadinessRow,
    outbox: Sequence[OutboxRow],
    body: Any,
    columns: Mapping[str, Any],
) -> bool:
    """Store one report and all that follows from it, in one statement; False when its receipt was there already.

    *columns* are the single values that ``_WRITE`` names.
    """
    row = fetch_row(
        _WRITE,
        {
            "states": _rows_as_json(judged.states), "flips": as_json(judged.flips), "memory": _rows_as_json(memory),
            "gone": as_json([Gone(*key) for key in judged.gone]),
            "evidence": as_json(evidence), "identity": as_json([identity] if identity else []),
            "readiness": as_json(readiness), "outbox": as_json(outbox), "body": as_json(body), **columns,
        },
    )  # fmt: skip
    return bool(row and row[0])


def write_judged(
    *,
    node_id: UUID,
    cluster_id: int,
    judged: Judged,
    readiness: ReadinessRow,
    outbox: Sequence[OutboxRow],
    now: datetime,
) -> None:
    """Store what judging without a report changed in one node's rows."""
    fetch_row(
        _WRITE_JUDGED,
        {
            "node": node_id, "cluster": cluster_id, "report_id": None, "now": now,
            "states": _rows_as_json(judged.states), "gone": as_json([Gone(*key) for key in judged.gone]),
            "flips": as_json(judged.flips), "readiness": as_json(readiness), "outbox": as_json(outbox),
        },
    )  # fmt: skip


def as_json(value: Any) -> str:
    """*value* as JSON text, for a parameter."""
    return _ENCODER.encode(value).decode()


def _rows_as_json(rows: Sequence[StateRow] | Sequence[MemoryRow]) -> str:
    """Rows with their columns' names, as ``json_to_recordset`` reads them."""
    return as_json([msgspec.structs.asdict(row) for row in rows])


_LOCK, _LOCK_NODE = Statement.of(ingest_sql.LOCK), Statement.of(ingest_sql.LOCK_NODE)
_LOCK_TOLD = Statement.of(ingest_sql.LOCK_TOLD)
_LOAD, _LOAD_ALL = Statement.of(ingest_sql.LOAD), Statement.of(ingest_sql.LOAD_ALL)
_WRITE, _WRITE_JUDGED = Statement.of(ingest_sql.WRITE), Statement.of(ingest_sql.WRITE_JUDGED)


def _one(decoder: msgspec.json.Decoder[T], statement: Statement, parameters: Mapping[str, Any]) -> T | None:
    row = fetch_row(statement, parameters)
    return decoder.decode(row[0]) if row is not None else None
