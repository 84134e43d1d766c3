"""Rows before + rules (+ a report) -> rows after. The only place where the judge's pure functions meet stored rows.

Two ways in: ``judge_report`` for what a report covers (both steps), ``judge_again`` for rules that changed (step two).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from msgspec import structs

from checks.domain.blocking import blocks
from checks.domain.evaluation import PASSED, Judgement, judge
from checks.domain.facts import Fact, Problem
from checks.domain.freshness import is_stale, valid_until
from checks.domain.items import Item
from checks.domain.loading import loaded_until
from checks.domain.manifest import identity_changed, identity_of
from checks.domain.measuring import Measured, measure, measure_covered, measure_said, unmeasured
from checks.domain.memory import NOTHING_KNOWN, ItemMemory, Value
from checks.domain.peers import with_shares
from checks.domain.profiles import Ruleset
from checks.domain.settling import Settled, counts, resettle, settle, settles_as
from checks.domain.verdicts import Cadence, Reason, Verdict
from checks.services.node_rows import MemoryRow, RowKey, StateRow, expected_rows, new_row
from checks.services.remembering import is_worth_keeping, refreshed
from checks.services.steady import Submission, says_the_same

_SELF_RENEWING: Final = frozenset({Cadence.TICK, Cadence.DAILY})
_KNOWN: Final = frozenset({Verdict.PASS, Verdict.WARN, Verdict.FAIL})
_DETAIL_LENGTH: Final = 300
_KEPT_FACTS_BYTES: Final = 2048
_ANCIENT: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Outcome:
    """Rows to write, memory to write; rows that did not change are in neither."""

    states: dict[RowKey, StateRow] = field(default_factory=dict)
    memory: list[MemoryRow] = field(default_factory=list)


def judge_report(
    submission: Submission,
    ruleset: Ruleset,
    rows: Mapping[RowKey, StateRow],
    memory: Mapping[RowKey, ItemMemory],
    *,
    now: datetime,
) -> Outcome:
    """What the report changes. A row that is as new as the report, or newer, is left alone with its memory."""
    outcome = Outcome()
    by_item: dict[str, dict[str, StateRow]] = {}
    for (key, subject), row in rows.items():
        by_item.setdefault(key, {})[subject] = row
    for key in submission.content.items:
        held = by_item.get(key, {})
        item = ruleset.items[key]
        if says_the_same(submission, item, held, memory) and _only_grew_younger(submission, item, held, outcome):
            continue
        stamp = submission.stamps.get(item.cadence)
        known = {subject: refreshed(memory.get((key, subject), NOTHING_KNOWN), stamp) for subject in held}
        _judge_item(submission, ruleset, key, known, rows, outcome, now)
    for key in submission.missing:
        for row in by_item.get(key, {}).values():
            _note_missing(submission, ruleset, row, outcome, now)
    return outcome


def _only_grew_younger(submission: Submission, item: Item, rows: Mapping[str, StateRow], outcome: Outcome) -> bool:
    """Whether nothing but the age of *rows* changed, which the stamp shows; a start item's age is its row's own."""
    if item.cadence == submission.moves:
        return True
    if item.cadence is not Cadence.START:
        return False
    observed_at = submission.content.newest(item.key, submission.observed_at)
    until = valid_until(observed_at, item.cadence, submission.interval, item)
    for row in rows.values():
        if _is_newer(observed_at, row, submission):
            outcome.states[row.key] = structs.replace(row, observed_at=observed_at, valid_until=until)
    return True


def judge_again(
    rows: Mapping[RowKey, StateRow], ruleset: Ruleset, *, retired: Mapping[str, str], now: datetime
) -> tuple[dict[RowKey, StateRow], list[RowKey]]:
    """All rows under *ruleset* from their stored values alone, and the keys of rows that it does not expect any more.

    Settles at once; memory, times of measurement and counts stay as they are.
    """
    judged = {row.key: row for row in expected_rows(ruleset, retired=retired, now=now)}
    gone: list[RowKey] = []
    for key, row in rows.items():
        if key in judged or (row.subject not in retired and _was_measured(row, ruleset)):
            judged[key] = _row_again(row, ruleset, now)
        else:
            gone.append(key)
    return judged, gone


def judge_statement(
    before: StateRow, item: Item, facts: Sequence[Fact], *, min_gap: timedelta, until: datetime, now: datetime
) -> StateRow:
    """The row after a person stated *facts* at *now*, good until *until*: judged like any fact, and settled at once."""
    value = measure(item, facts, (), NOTHING_KNOWN, observed_at=now, boot_id="").value
    judgement = judge(item, value, now=now)
    settled = settle(_settled_of(before, None), judgement.verdict, item=item, observed_at=now, min_gap=min_gap)
    after = _with_judgement(before, item, value, judgement, settled, now)
    after.facts = _kept_facts(facts, before.subject)
    after.counted_at, after.observed_at, after.valid_until = settled.counted_at, now, until
    return after


def judge_audited(
    before: StateRow, item: Item, facts: Sequence[Fact], problems: Sequence[Problem], *, now: datetime
) -> StateRow:
    """The row after audits told *facts* and *problems*: settled at once, and as old as the newest of the facts."""
    value = measure(item, facts, problems, NOTHING_KNOWN, observed_at=now, boot_id="").value
    judgement = judge(item, value, now=now)
    settled = resettle(_settled_of(before, None), judgement.verdict, item=item, at=now)
    after = _with_judgement(before, item, value, judgement, settled, now)
    after.facts = _kept_facts(facts, before.subject)
    after.counted_at = now
    return after


def judge_derived(
    before: StateRow,
    item: Item,
    facts: Sequence[Fact],
    problems: Sequence[Problem],
    *,
    observed_at: datetime,
    min_gap: timedelta,
    now: datetime,
) -> StateRow:
    """The row after what several nodes measured was put together: it settles as a node's row of its cadence does."""
    value = measure(item, facts, problems, NOTHING_KNOWN, observed_at=observed_at, boot_id="").value
    judgement = judge(item, value, now=now)
    settled = settle(_settled_of(before, None), judgement.verdict, item=item, observed_at=observed_at, min_gap=min_gap)
    after = _with_judgement(before, item, value, judgement, settled, now)
    after.counted_at = settled.counted_at
    return after


def judge_row_again(before: StateRow, ruleset: Ruleset, *, now: datetime) -> StateRow:
    """One row under *ruleset* from its stored value alone; itself where nothing changes."""
    return _row_again(before, ruleset, now)


def _judge_item(
    submission: Submission,
    ruleset: Ruleset,
    key: str,
    known: Mapping[str, ItemMemory],
    rows: Mapping[RowKey, StateRow],
    outcome: Outcome,
    now: datetime,
) -> None:
    observed_at = submission.content.newest(key, submission.observed_at)
    usable = {
        subject: ItemMemory() if subject in submission.replaced else held
        for subject, held in known.items()
        if _is_newer(observed_at, rows[key, subject], submission)
    }
    item = ruleset.items[key]
    for subject, found in _measured(submission, ruleset, key, usable, observed_at).items():
        if subject in submission.retired or (subject in known and subject not in usable):
            continue
        if submission.partial and not submission.content.speaks_of(key, subject):
            continue
        before = rows.get((key, subject)) or new_row(ruleset, key, subject, now=now)
        after = _row_measured(before, ruleset, item, found, submission, observed_at, now)
        if submission.partial and _leaves_open(before, after, now):
            continue
        if item.cadence not in _SELF_RENEWING:
            after.facts = _kept_facts(submission.content.facts(key), subject)
        if (key, subject) not in rows or after is not before:
            outcome.states[key, subject] = after
        if is_worth_keeping(known.get(subject), found.memory, stamped=item.cadence == submission.moves):
            outcome.memory.append(MemoryRow(key, subject, found.memory))  # type: ignore[arg-type]


def _leaves_open(before: StateRow, after: StateRow, now: datetime) -> bool:
    """Whether too little was told to judge the item: that takes away nothing that is known, unless a fault was seen."""
    tells_nothing = after.raw == Verdict.UNKNOWN and after.reason != Reason.ERROR
    return tells_nothing and before.raw in _KNOWN and not is_stale(before.valid_until, now)


def _measured(
    submission: Submission, ruleset: Ruleset, key: str, memories: Mapping[str, ItemMemory], observed_at: datetime
) -> dict[str, Measured]:
    """Step one for every subject. Most reports say all that is asked, and no more: that needs no sorting out."""
    content, boot_id = submission.content, submission.boot_id
    said = content.plain(key)
    if said is not None and said.keys() == {*ruleset.subjects(key), *memories}:
        item = ruleset.items[key]
        return {
            subject: measure_said(
                item, facts, memories.get(subject, NOTHING_KNOWN), observed_at=observed_at, boot_id=boot_id
            )
            for subject, facts in with_shares(item, said).items()
        }
    problems = content.problems.get(key, [])
    return measure_covered(
        ruleset, key, content.facts(key), problems, memories, observed_at=observed_at, boot_id=boot_id
    )


def _is_newer(observed_at: datetime, row: StateRow, submission: Submission) -> bool:
    """Whether evidence of *observed_at* says more than the row: an older report fills history only."""
    return observed_at > max(row.observed_at or _ANCIENT, submission.stamps.get(row.cadence, _ANCIENT))


def _row_measured(
    before: StateRow,
    ruleset: Ruleset,
    item: Item,
    measured: Measured,
    submission: Submission,
    observed_at: datetime,
    now: datetime,
) -> StateRow:
    """The row after a measurement; *before* itself when a full report of its cadence brought nothing new."""
    value = measured.value
    judgement = PASSED if ruleset.passing[item.key](value, now) else judge(item, value, now=now)
    stamp = submission.stamps.get(before.cadence)
    if submission.same_rules and item.cadence == submission.moves and _stays(before, judgement):
        return _with_value(before, item, value, judgement, submission, observed_at)
    settled = settle(
        _settled_of(before, stamp), judgement.verdict, item=item, observed_at=observed_at, min_gap=submission.min_gap
    )
    after = _with_judgement(before, item, value, judgement, settled, now)
    after.loaded_until = loaded_until(value)
    after.evidence = submission.evidence.get(item.key, before.evidence)
    if item.cadence == submission.moves:
        after.counted_at = settled.counted_at if settled.pending is not None else before.counted_at
        if after == before:
            return before
    after.counted_at, after.observed_at = settled.counted_at, observed_at
    if item.cadence not in _SELF_RENEWING:
        after.valid_until = valid_until(observed_at, item.cadence, submission.interval, item)
    return after


def _stays(before: StateRow, judgement: Judgement) -> bool:
    """Whether the verdict is what it was, settled or not, so that a row changes in its value alone."""
    if before.pending or before.settle_count or before.raw != judgement.verdict:
        return False
    candidate = settles_as(judgement.verdict)
    return before.reason == (judgement.reason or "") and (candidate is None or candidate == before.settled)


def _with_value(
    before: StateRow, item: Item, value: Value, judgement: Judgement, submission: Submission, observed_at: datetime
) -> StateRow:
    """The row with another value under the same verdict."""
    identity = identity_of(item, value, before.identity)
    after = structs.replace(
        before,
        value=value,
        identity=identity,
        epoch=before.epoch + identity_changed(before.identity, identity),
        detail=judgement.detail[:_DETAIL_LENGTH],
        loaded_until=loaded_until(value),
        evidence=submission.evidence.get(item.key, before.evidence),
    )
    if after == before:
        return before
    counted_at = _counted_at(before, submission.stamps.get(before.cadence))
    counted = settles_as(judgement.verdict) and counts(counted_at, item, observed_at, submission.min_gap)
    after.counted_at, after.observed_at = observed_at if counted else counted_at, observed_at
    return after


def _with_judgement(
    before: StateRow, item: Item, value: Value, judgement: Judgement, settled: Settled, now: datetime
) -> StateRow:
    """The row with a verdict, whatever it came from; epoch + 1 when what was settled, or an identity value, changed."""
    raw = judgement.verdict.value
    identity = identity_of(item, value, before.identity)
    renamed = identity_changed(before.identity, identity)
    return structs.replace(
        before,
        layer=item.layer.value, scope=item.scope.value, cadence=item.cadence.value, severity=item.severity.value,
        shadow=item.shadow, item_version=item.version, raw=raw, value=value, identity=identity,
        since=before.since if raw == before.raw else now,
        reason=judgement.reason.value if judgement.reason else "", detail=judgement.detail[:_DETAIL_LENGTH],
        settled=settled.verdict.value if settled.verdict else "",
        pending=settled.pending.value if settled.pending else "",
        settle_count=settled.count, settled_since=settled.since,
        epoch=before.epoch + (settled.epoch_change or renamed),
        blocks=int(blocks(item, judgement.verdict, judgement.reason)),
    )  # fmt: skip


def _note_missing(submission: Submission, ruleset: Ruleset, before: StateRow, outcome: Outcome, now: datetime) -> None:
    """A short report: what it should have covered and did not is *unknown: not reported*."""
    if not _is_newer(submission.observed_at, before, submission):
        return
    item, value = ruleset.items[before.item], unmeasured(Reason.NOT_REPORTED)
    after = _with_judgement(before, item, value, judge(item, value, now=now), _settled_of(before, None), now)
    if after != before:
        outcome.states[before.key] = after


def _row_again(before: StateRow, ruleset: Ruleset, now: datetime) -> StateRow:
    """Step two alone, from the stored value."""
    item = ruleset.items[before.item]
    value = Value(before.value)  # type: ignore[misc]
    judgement = judge(item, value, now=now) if ruleset.applies(item.key) else Judgement(Verdict.NA)
    settled = resettle(_settled_of(before, None), judgement.verdict, item=item, at=now)
    after = _with_judgement(before, item, value, judgement, settled, now)
    return before if after == before else after


def _was_measured(row: StateRow, ruleset: Ruleset) -> bool:
    """Whether a row beyond those expected stays: a part that was really seen, of an item that still applies."""
    return row.item in ruleset.items and ruleset.applies(row.item) and bool(row.subject and row.value.get("facts"))


def _settled_of(row: StateRow, stamp: datetime | None) -> Settled:
    """What has settled so far."""
    return Settled(
        verdict=Verdict(row.settled) if row.settled else None,
        pending=Verdict(row.pending) if row.pending else None,
        count=row.settle_count,
        counted_at=_counted_at(row, stamp),
        since=row.settled_since,
    )


def _counted_at(row: StateRow, stamp: datetime | None) -> datetime | None:
    """When the row was counted last. A steady one is not written on each report: there it is its cadence's stamp."""
    if stamp is None or row.counted_at is None or row.pending:
        return row.counted_at
    return max(row.counted_at, stamp)


def _kept_facts(facts: Iterable[Fact], subject: str) -> list[list[object]] | None:
    kept: list[list[object]] = [[fact.name, fact.value, fact.unit] for fact in facts if fact.subject in ("", subject)]
    return kept if kept and len(msgspec.json.encode(kept)) <= _KEPT_FACTS_BYTES else None
