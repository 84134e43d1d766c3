"""Store one push of facts and what follows from it: once, in one transaction of three statements.

A report of 80 results costs as many statements as one of 8, because nothing here asks the database anything in a loop.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
from django.db import IntegrityError, transaction

from checks.domain.errors import CountersignError
from checks.domain.freshness import valid_until
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence, Verdict
from checks.models import Cluster
from checks.selectors.rules import rules_in_force
from checks.services import partitions
from checks.services.claims import end_by_report
from checks.services.evidence import evidence_rows
from checks.services.judging import judge_again, judge_report
from checks.services.machine import Machine, recognise
from checks.services.node_rows import ReadinessRow, RowKey, StateRow, flip_between
from checks.services.node_store import (
    Judged,
    KnownAtReport,
    OpenRecheck,
    OutboxRow,
    Presented,
    load_all,
    load_for_report,
    lock_by_token,
    write_report,
)
from checks.services.plans import require_active
from checks.services.receipts import Receipt, receipt_of
from checks.services.report_clock import ReportClock
from checks.services.report_v1 import ReportV1
from checks.services.steady import Submission
from checks.services.submission import FULL_CADENCES, Content, content_of, missing_items
from checks.services.summary import summarise_report
from checks.services.tokens import USE_NOTED_EVERY, BadToken, comes_from, is_live, parse_bearer, secret_matches

_WATCH_BREAKERS: Final = "checks.watch_breakers"
_MOST_LOST: Final = 2**53  # an agent may say anything, and the column must hold what it says


class ReportRefused(CountersignError):
    """The token is good, but not for this report."""

    code = "wrong_node"
    status = 403


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What became of a report: the node's *rows* as they stand now, and the keys of those that it wrote.

    *stamps* are when evidence of a whole cadence last came: a row that did not change since is that young.
    """

    ruleset: Ruleset
    rows: Mapping[RowKey, StateRow]
    written: frozenset[RowKey]
    stamps: Mapping[str, datetime]
    trouble: str


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A report with everything that was known when its node's lock was granted."""

    presented: Presented
    known: KnownAtReport
    ruleset: Ruleset
    report: ReportV1
    clock: ReportClock
    machine: Machine
    content: Content

    @property
    def rules_changed(self) -> bool:
        """Whether the node's rows were judged under other rules than this report is."""
        readiness = self.known.readiness
        return readiness is None or readiness.judged_under != self.ruleset.judged_under


def record_report(
    *, bearer: str, report: ReportV1, age_s: float | None, address: str | None, received_at: datetime
) -> Receipt:
    """Store one push and what follows from it, once.

    Idempotent by (node, report_id): a duplicate answers with the verdicts already stored. *age_s* is the report's age
    when it was sent, in seconds (its Report-Age).

    Raises:
        BadToken: the token is not a live agent's.
        ReportRefused: it is another node's, or a replay where none is accepted.
        NodeRetired: the node or its cluster takes no part any more.
    """
    try:
        return _record(bearer, report, age_s, address, received_at)
    except IntegrityError as error:
        if not _lacks_partition(error):
            raise
    partitions.ensure()
    return _record(bearer, report, age_s, address, received_at)


@transaction.atomic
def _record(bearer: str, report: ReportV1, age_s: float | None, address: str | None, now: datetime) -> Receipt:
    presented = _lock_node(bearer, report, address, now)
    clock = ReportClock.of(report, received_at=now, age_s=age_s)
    arrival = _arrive(presented, report, clock, now)
    known = arrival.known
    rows = {row.key: row for row in known.states}
    if known.duplicate or not _store(arrival, rows, now):
        return _receipt(arrival, rows, known.rechecks, duplicate=True)
    if report.cadence == "offline":
        _end_claim(presented, clock.written_at, now)
    answered = frozenset(_answered_rechecks(arrival))
    return _receipt(arrival, rows, [one for one in known.rechecks if one.id not in answered], duplicate=False)


def take_in(*, presented: Presented, report: ReportV1, clock: ReportClock, now: datetime) -> TakenIn:
    """Judge and store what others tell of a node that is locked already, as a report of its own is judged.

    Only what the report names is touched, and nothing of it shows that the node's agent is alive.
    """
    arrival = _arrive(presented, report, clock, now)
    before = {row.key: row for row in arrival.known.states}
    rows = dict(before)
    _store(arrival, rows, now)
    written = frozenset(key for key, row in rows.items() if before.get(key) is not row)
    return TakenIn(arrival.ruleset, rows, written, _stamps(arrival), arrival.machine.trouble)


def _arrive(presented: Presented, report: ReportV1, clock: ReportClock, now: datetime) -> _Arrival:
    known = load_for_report(presented, report_id=report.report_id, now=now)
    ruleset = rules_in_force(known.judged_under, cluster_id=presented.cluster_id, profile=presented.profile)
    machine = recognise(presented, report, observed_at=clock.written_at)
    content = content_of(report, ruleset, clock, machine.subjects)
    return _Arrival(presented, known, ruleset, report, clock, machine, content)


def _end_claim(node: Presented, measured_at: datetime, now: datetime) -> None:
    """What the node was taken for has been measured."""
    cluster = Cluster(id=node.cluster_id, slug=node.cluster)
    end_by_report(node_id=node.node_id, hostname=node.hostname, cluster=cluster, measured_at=measured_at, now=now)


def _lock_node(bearer: str, report: ReportV1, address: str | None, now: datetime) -> Presented:
    """The token's node, locked, once the token is proved good and the report to be this node's."""
    parts = parse_bearer(bearer)
    found = lock_by_token(parts.key)
    if (
        found is None
        or not secret_matches(parts.secret, digest=found.digest, pepper=found.pepper)
        or found.kind != "agent"
        or parts.kind != "agent"
        or not is_live(revoked_at=found.revoked_at, expires_at=found.expires_at, now=now)
        or not comes_from(address, found.networks)
    ):
        raise BadToken
    _require_own_report(found, report)
    return found


def _require_own_report(node: Presented, report: ReportV1) -> None:
    closed = node.closed_at is not None
    require_active(node.hostname, retired=node.retired_at is not None, cluster_closed=closed)
    if report.node.hostname.lower() != node.hostname:
        raise ReportRefused(
            f"This token belongs to {node.hostname}, not to {report.node.hostname}; enrol that machine by itself."
        )
    if report.origin != node.origin:
        raise ReportRefused(
            f"{node.hostname} was enrolled as a {node.origin} node and sends {report.origin} reports; enrol another "
            "hostname for them.",
            code="origin_mismatch",
        )
    require_replays_taken(node)


def require_replays_taken(node: Presented) -> None:
    """Refuse what is told of a replayed node where its cluster takes none any more.

    Raises:
        ReportRefused: ``replay_refused``.
    """
    if node.origin == "replay" and not node.accept_replay:
        raise ReportRefused(
            f"{node.cluster} does not accept replays; push to a cluster that does.", code="replay_refused"
        )


def _store(arrival: _Arrival, rows: dict[RowKey, StateRow], now: datetime) -> bool:
    """Judge and write; *rows* become those after the report. False when another copy of the report came first."""
    submission = _submission(arrival)
    memory = {(row.item, row.subject): row.state for row in arrival.known.memory}
    outcome = judge_report(submission, arrival.ruleset, rows, memory, now=now)  # type: ignore[arg-type]
    gone: list[RowKey] = []
    after = {**rows, **outcome.states}
    if arrival.rules_changed:
        rows.update({row.key: row for row in load_all(arrival.presented).states if row.key not in rows})
        rest = {key: row for key, row in rows.items() if key not in outcome.states}
        again, gone = judge_again(rest, arrival.ruleset, retired=arrival.presented.retired_subjects, now=now)
        after = {**again, **outcome.states}
    changed = _changed(rows, after) if arrival.rules_changed else outcome.states
    judged = _judged(rows, changed, outcome.states, gone)
    readiness = _readiness(arrival, rows, after, submission, judged, now)
    evidence = [row for row, _ in evidence_rows(arrival.report.evidence)]
    written = write_report(
        judged=judged, memory=outcome.memory, evidence=evidence, identity=arrival.machine.changes, readiness=readiness,
        outbox=_outbox(judged), body=_body(arrival), columns=_columns(arrival, submission, now),
    )  # fmt: skip
    rows.clear()
    rows.update(after)
    return written


def _submission(arrival: _Arrival) -> Submission:
    report, content, clock = arrival.report, arrival.content, arrival.clock
    known_stamps = _stamps(arrival)
    last = known_stamps.get(report.cadence)
    missing = missing_items(report, arrival.ruleset)
    newest = last is None or _evidence_since(arrival) > last
    return Submission(
        content=content,
        missing=(missing or ()) if newest else (),
        received_at=clock.received_at,
        observed_at=clock.written_at,
        boot_id=report.node.boot_id,
        interval=timedelta(seconds=arrival.presented.interval_s),
        min_gap=timedelta(seconds=arrival.presented.min_settle_gap_s),
        stamps=known_stamps,
        moves=report.cadence if newest and missing == () else None,
        same_rules=not arrival.rules_changed,
        replaced=arrival.machine.replaced,
        retired=arrival.presented.retired_subjects,
        evidence={key: row.digest for row, items in evidence_rows(report.evidence) for key in items},
        partial=not arrival.presented.speaks_for_itself,
    )


def _stamps(arrival: _Arrival) -> dict[str, datetime]:
    readiness = arrival.known.readiness
    stamps = {} if readiness is None else {"tick": readiness.tick_at, "daily": readiness.daily_at}
    return {cadence: at for cadence, at in stamps.items() if at is not None}


def _evidence_since(arrival: _Arrival) -> datetime:
    """What the freshness of a full report is counted from: its cadence's oldest fact, or its writing without one."""
    items, cadence, clock = arrival.ruleset.items, arrival.report.cadence, arrival.clock
    aged = (sent for key, sent in arrival.content.sent.items() if key in items and items[key].cadence == cadence)
    return clock.observed(min((sent.oldest for sent in aged), default=clock.boottime))


def _changed(rows: Mapping[RowKey, StateRow], after: Mapping[RowKey, StateRow]) -> dict[RowKey, StateRow]:
    return {key: row for key, row in after.items() if rows.get(key) is not row}


def _judged(
    rows: Mapping[RowKey, StateRow],
    changed: Mapping[RowKey, StateRow],
    measured: Mapping[RowKey, StateRow],
    gone: list[RowKey],
) -> Judged:
    """The rows that changed, and a flip for each verdict that did."""
    causes = ((key, row, "report" if key in measured else "rejudge") for key, row in changed.items() if key in rows)
    flips = (flip_between(rows[key], row, cause=cause) for key, row, cause in causes)
    return Judged(list(changed.values()), [flip for flip in flips if flip is not None], gone)


def _readiness(
    arrival: _Arrival,
    rows: Mapping[RowKey, StateRow],
    after: Mapping[RowKey, StateRow],
    submission: Submission,
    judged: Judged,
    now: datetime,
) -> ReadinessRow:
    summary = summarise_report(rows, after, judged.states, arrival.ruleset, before=arrival.known.readiness)
    report, clock = arrival.report, arrival.clock
    if submission.moves in FULL_CADENCES:
        at = _evidence_since(arrival)
        until = valid_until(at, Cadence(submission.moves), submission.interval)
        if submission.moves == Cadence.TICK:
            summary.tick_at, summary.tick_until = at, until
        else:
            summary.daily_at, summary.daily_until = at, until
    if not arrival.presented.speaks_for_itself:
        return summary
    summary.last_report_at = now
    summary.lost_reports = min(summary.lost_reports + report.lost.spool + report.lost.bad, _MOST_LOST)
    if summary.last_observed_at is None or clock.written_at > summary.last_observed_at:
        summary.last_observed_at, summary.last_boottime = clock.written_at, clock.boottime
        summary.origin, summary.captured_at = report.origin, report.captured_at
    return summary


def _outbox(judged: Judged) -> list[OutboxRow]:
    """Have the breaker looked at when something that can stop a node began to fail."""
    fails = any(flip.raw == Verdict.FAIL and flip.raw_before != Verdict.FAIL for flip in judged.flips)
    return [OutboxRow(_WATCH_BREAKERS, [])] if fails else []


def _body(arrival: _Arrival) -> dict[str, Any]:
    """What the stored report keeps: everything that was sent, judged or not. See ``Report.body`` for the form."""
    report = arrival.report
    problems = [[one.item, one.subject, one.kind, one.detail] for one in report.problems]
    kept = {"covered": report.covered, "problems": problems, "clock": report.clock, "lost": report.lost}
    return kept | arrival.content.as_json() | {"serials": report.node.serials}


def _columns(arrival: _Arrival, submission: Submission, now: datetime) -> dict[str, Any]:
    presented, report, used = arrival.presented, arrival.report, arrival.presented.last_used_at
    return {
        "node": presented.node_id, "cluster": presented.cluster_id, "report_id": report.report_id, "now": now,
        "observed_at": arrival.clock.written_at, "cadence": report.cadence, "agent_version": report.agent_version,
        "boot_id": report.node.boot_id, "captured_at": report.captured_at, "moved": submission.moves,
        "rechecks": _answered_rechecks(arrival), "token": presented.token_id,
        "note_use": used is None or now - used >= USE_NOTED_EVERY,
    }  # fmt: skip


def _answered_rechecks(arrival: _Arrival) -> list[int]:
    """Requests that this report answers: it covers their items and was measured after they were asked."""
    covered, written_at = set(arrival.report.covered), arrival.clock.written_at
    return [
        one.id for one in arrival.known.rechecks if covered.issuperset(one.items) and one.requested_at <= written_at
    ]


def _receipt(
    arrival: _Arrival, rows: Mapping[RowKey, StateRow], rechecks: list[OpenRecheck], *, duplicate: bool
) -> Receipt:
    presented = arrival.presented
    trouble = presented.trouble if duplicate else arrival.machine.trouble
    return receipt_of(
        arrival.report, arrival.content, arrival.ruleset, rows.values(), rechecks=rechecks, duplicate=duplicate,
        trouble=trouble, interval_s=presented.interval_s, poll_after_s=presented.poll_after_s,
    )  # fmt: skip


def _lacks_partition(error: IntegrityError) -> bool:
    """PostgreSQL reports a missing partition as a check violation that names no constraint."""
    cause = error.__cause__
    return isinstance(cause, psycopg.errors.CheckViolation) and cause.diag.constraint_name is None
