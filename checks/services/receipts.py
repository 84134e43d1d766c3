"""The answer to a report: verdicts as the agent prints them, and what it should do next."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from msgspec import Struct

from checks.domain.profiles import Ruleset
from checks.selectors.plans import Recheck, plan_etag
from checks.services.node_rows import StateRow
from checks.services.node_store import OpenRecheck
from checks.services.report_v1 import ReportV1
from checks.services.submission import Content


class VerdictLine(Struct, gc=False):
    """One verdict of an item that the report covered."""

    item: str
    subject: str
    verdict: str
    severity: str
    reason: str
    detail: str


class Receipt(Struct):
    """What a 202 says. *observed* names what was kept but not judged; seconds in *poll_after* and *retry_after*."""

    report_id: UUID
    duplicate: bool
    verdicts: list[VerdictLine]
    plan_etag: str
    poll_after: int
    recheck: list[str]
    observed: list[str]
    trouble: str
    accepted: bool = True
    retry_after: int = 0


def receipt_of(
    report: ReportV1,
    content: Content,
    ruleset: Ruleset,
    rows: Iterable[StateRow],
    *,
    rechecks: Sequence[OpenRecheck],
    duplicate: bool,
    trouble: str,
    interval_s: int,
    poll_after_s: int,
) -> Receipt:
    """The receipt of *report*, from the node's *rows* as they stand now."""
    asked = frozenset((*report.covered, *content.items))
    return Receipt(
        report_id=report.report_id,
        duplicate=duplicate,
        verdicts=[
            VerdictLine(row.item, row.subject, row.raw, row.severity, row.reason, row.detail)
            for row in rows
            if row.item in asked
        ],
        plan_etag=plan_etag(
            ruleset,
            interval_s=interval_s,
            poll_after_s=poll_after_s,
            rechecks=tuple(Recheck(one.id, tuple(one.items)) for one in rechecks),
        ),
        poll_after=poll_after_s,
        recheck=list(dict.fromkeys(item for one in rechecks for item in one.items)),
        observed=list(content.observed),
        trouble=trouble,
    )
