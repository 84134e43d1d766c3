"""What one node's rows look like between the database and the judge: typed, JSON on both sides, no ORM.

Field names are the columns of ``NodeItemState``, ``NodeMemory``, ``Flip`` and ``NodeReadiness``.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct, field

from checks.domain.blocking import blocks
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Reason, Verdict

RowKey: TypeAlias = tuple[str, str]


class StateRow(Struct, array_like=True, gc=False):
    """The latest verdict of one item of one subject; read as an array, so that names do not travel with each row."""

    item: str
    subject: str
    layer: str
    scope: str
    cadence: str
    severity: str
    shadow: bool
    raw: str
    since: datetime
    item_version: str
    settled: str = ""
    pending: str = ""
    settle_count: int = 0
    counted_at: datetime | None = None
    value: dict[str, Any] = field(default_factory=dict)
    facts: list[Any] | None = None
    identity: dict[str, Any] = field(default_factory=dict)
    observed_at: datetime | None = None
    settled_since: datetime | None = None
    epoch: int = 0
    blocks: int = 0
    reason: str = ""
    detail: str = ""
    loaded_until: datetime | None = None
    valid_until: datetime | None = None
    evidence: str = ""

    @property
    def key(self) -> RowKey:
        """Item and subject: what makes the row one of its node."""
        return self.item, self.subject


class MemoryRow(Struct, array_like=True, gc=False):
    """What judging one item of one subject remembers."""

    item: str
    subject: str
    state: dict[str, Any]


class FlipRow(Struct, gc=False):
    """One change of a raw or settled verdict."""

    item: str
    subject: str
    observed_at: datetime | None
    raw_before: str
    raw: str
    settled_before: str
    settled: str
    reason: str
    detail: str
    value: dict[str, Any]
    item_version: str
    cause: str


class ReadinessRow(Struct):
    """The node's summary; see ``NodeReadiness`` for what each count means."""

    tick_at: datetime | None = None
    tick_until: datetime | None = None
    daily_at: datetime | None = None
    daily_until: datetime | None = None
    tick_expected: int = 0
    daily_expected: int = 0
    health_bad: int = 0
    health_failed: int = 0
    health_pass_physical: int = 0
    health_pass_system: int = 0
    start_bad: int = 0
    start_until: datetime | None = None
    layers: dict[str, dict[str, Any]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    judged_under: str = ""
    last_report_at: datetime | None = None
    last_observed_at: datetime | None = None
    last_boottime: float | None = None
    origin: str = "live"
    captured_at: datetime | None = None
    lost_reports: int = 0
    uniform: str = ""


class Known(Struct):
    """Everything that was known of a node when its lock was granted."""

    states: list[StateRow]
    memory: list[MemoryRow]
    readiness: ReadinessRow | None
    judged_under: str | None


def expected_rows(ruleset: Ruleset, *, retired: Mapping[str, str], now: datetime) -> list[StateRow]:
    """A row for each item and subject that the profile expects: *na* where it does not apply, else never measured."""
    return [
        new_row(ruleset, key, subject, now=now)
        for key in ruleset.node_items()
        for subject in ruleset.subjects(key)
        if subject not in retired
    ]


def new_row(ruleset: Ruleset, key: str, subject: str, *, now: datetime) -> StateRow:
    """The row of a subject that nobody measured yet, or that the profile excuses."""
    item = ruleset.items[key]
    row = StateRow(
        item=key, subject=subject, layer=item.layer, scope=item.scope, cadence=item.cadence, severity=item.severity,
        shadow=item.shadow, raw=Verdict.UNKNOWN, since=now, item_version=item.version,
    )  # fmt: skip
    if not ruleset.applies(key):
        row.raw, row.settled, row.settled_since = Verdict.NA, Verdict.NA, now
        return row
    row.reason = Reason.NEVER_MEASURED
    row.blocks = blocks(item, Verdict.UNKNOWN, Reason.NEVER_MEASURED)
    return row


def flip_between(before: StateRow, after: StateRow, *, cause: str) -> FlipRow | None:
    """The flip from *before* to *after*; None when neither verdict changed."""
    if before.raw == after.raw and before.settled == after.settled:
        return None
    return FlipRow(
        item=after.item, subject=after.subject, observed_at=after.observed_at, raw_before=before.raw, raw=after.raw,
        settled_before=before.settled, settled=after.settled, reason=after.reason, detail=after.detail,
        value=after.value, item_version=after.item_version, cause=cause,
    )  # fmt: skip
