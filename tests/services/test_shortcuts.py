"""A report is judged by shortcuts where they hold; they must write what the long way writes, row by row."""

import uuid
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.domain.memory import ItemMemory
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence
from checks.management.simulation.sound import NO_TROUBLE, SoundNode, Work, Writing
from checks.services import judging
from checks.services.judging import Outcome, judge_report
from checks.services.node_rows import ReadinessRow, RowKey, StateRow, expected_rows
from checks.services.report_clock import ReportClock
from checks.services.report_v1 import ReportV1
from checks.services.steady import Submission
from checks.services.submission import Content, content_of, missing_items
from checks.services.summary import summarise, summarise_report
from tests.lab import our_catalogue

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
# Of everything one, so that many reports are judged in little time.
_LARGE = Ruleset.build(our_catalogue(), "8xh200", {})
RULES = replace(_LARGE, profile=replace(_LARGE.profile, gpus=1, nics=1))
UNSURE = replace(RULES)
object.__setattr__(UNSURE, "passing", dict.fromkeys(RULES.items, lambda value, now: False))

#: After how long a report comes, its cadence, what the node does, what is strange; None: all facts as the last time.
Step = tuple[timedelta, Cadence, Work, dict[str, Any] | None]

ITEMS = st.sampled_from(RULES.due(Cadence.TICK))
#: What may be strange about one report.
TROUBLES = st.fixed_dictionaries(
    {},
    optional={
        "value": st.tuples(ITEMS, st.sampled_from([0, 1, 3, 90, 128, 2**64, 0.5, True, "unlimited", "set", "Default"])),
        "unit": st.tuples(ITEMS, st.sampled_from(["count", "bytes", "text", "GB/s"])),
        "silent": ITEMS,
        "problem": st.tuples(ITEMS, st.sampled_from(["missing", "hung", "error"])),
        "twice": ITEMS,
        "left_out": ITEMS,
        "boot": st.sampled_from(["b", "c"]),
        "replaced": st.sampled_from(["gpu0", "nic0"]),
        "late_by": st.sampled_from([timedelta(seconds=1), timedelta(hours=3)]),
    },
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([timedelta(seconds=20), timedelta(minutes=5), timedelta(minutes=20), timedelta(days=3)]),
        st.sampled_from([Cadence.TICK, Cadence.TICK, Cadence.TICK, Cadence.DAILY]),
        st.sampled_from(Work),
        st.one_of(st.none(), st.just({}), TROUBLES),
    ),
    min_size=2,
    max_size=12,
)


class Ledger:
    """One node's rows, memory and stamps, as the database would hold them between two reports."""

    def __init__(self) -> None:
        self.rows: dict[RowKey, StateRow] = {row.key: row for row in expected_rows(RULES, retired={}, now=NOON)}
        self.memory: dict[RowKey, ItemMemory] = {}
        self.stamps: dict[str, datetime] = {}
        self.now, self.number = NOON, 0
        self.last: tuple[Work, dict[str, Any]] = (Work.BUSY, {})

    def submission(self, step: Step) -> Submission:
        """What the service makes of the next report."""
        gap, cadence, work, trouble = step
        self.now += gap
        if trouble is not None:
            self.number, self.last = self.number + 1, (work, trouble)
        work, trouble = self.last
        report = _report(cadence, work, self.number, self.now, trouble)
        clock = ReportClock.of(report, received_at=self.now, age_s=trouble.get("late_by", timedelta()).total_seconds())
        content, missing = content_of(report, RULES, clock, {}), missing_items(report, RULES)
        last = self.stamps.get(cadence)
        newest = last is None or clock.written_at > last
        return Submission(
            content=content, missing=(missing or ()) if newest else (), received_at=self.now,
            observed_at=clock.written_at, boot_id=report.node.boot_id, interval=timedelta(minutes=5),
            min_gap=timedelta(seconds=60), stamps=dict(self.stamps),
            moves=cadence if newest and missing == () else None, same_rules=True,
            replaced=frozenset({trouble["replaced"]} if "replaced" in trouble else ()), retired={}, evidence={},
        )  # fmt: skip

    def take_in(self, submission: Submission, outcome: Outcome) -> None:
        """Store what came out, through JSON."""
        self.rows.update(deepcopy(outcome.states))
        for row in outcome.memory:
            self.memory[row.item, row.subject] = msgspec.json.decode(msgspec.json.encode(row.state))
        if submission.moves is not None:
            self.stamps[submission.moves] = submission.observed_at


def _report(cadence: Cadence, work: Work, number: int, now: datetime, trouble: dict[str, Any]) -> ReportV1:
    boot = trouble.get("boot", "a")
    node = SoundNode(RULES, "gpu001", boot, work, program="test")
    due = [item for item in RULES.planned(cadence) if item != trouble.get("left_out")]
    body = node.report(Writing(cadence, due, number, boottime=now.timestamp(), wall=now), NO_TROUBLE)
    body["report_id"] = str(uuid.uuid4())
    body["facts"] = list(_told(body["facts"], trouble))
    if "problem" in trouble:
        item, kind = trouble["problem"]
        body["problems"] = [{"item": item, "subject": None, "kind": kind, "detail": "because"}]
    return msgspec.convert(body, ReportV1)


def _told(facts: Any, trouble: dict[str, Any]) -> Iterator[dict[str, Any]]:
    value, unit = trouble.get("value", ("", None)), trouble.get("unit", ("", None))
    for fact in facts:
        if fact["item"] == trouble.get("silent") and fact["subject"] in ("", "gpu0"):
            continue
        told = dict(fact)
        if told["item"] == value[0]:
            told["value"] = value[1]
        if told["item"] == unit[0]:
            told["unit"] = unit[1]
        yield told
        if told["item"] == trouble.get("twice"):
            yield {**told, "value": fact["value"], "observed_at": told["observed_at"] - 1}


def _the_long_way(submission: Submission, ledger: Ledger) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "says_the_same", lambda *_: False)
        patch.setattr(judging, "_stays", lambda *_: False)
        patch.setattr(Content, "plain", lambda *_: None)
        return judge_report(submission, UNSURE, ledger.rows, ledger.memory, now=ledger.now)


@settings(max_examples=80, deadline=None)
@given(STEPS)
def test_shortcuts_write_what_the_long_way_writes(steps: list[Step]) -> None:
    ledger = Ledger()
    for step in [(timedelta(minutes=5), Cadence.TICK, Work.BUSY, {})] * 3 + steps:
        submission = ledger.submission(step)
        short = judge_report(submission, RULES, ledger.rows, ledger.memory, now=ledger.now)
        long = _the_long_way(submission, ledger)

        assert _changed(short, ledger) == _changed(long, ledger)
        assert _remembered(short) == _remembered(long)
        assert _summary_by_changes(short, ledger) == _summary_by_counting(short, ledger)
        ledger.take_in(submission, short)


def _summary_by_changes(outcome: Outcome, ledger: Ledger) -> dict[str, Any]:
    """As a report has it written, from what was stored of the summary before, through JSON."""
    before = summarise(ledger.rows.values(), RULES, before=None)
    stored = msgspec.json.decode(msgspec.json.encode(before), type=ReadinessRow)
    after = {**ledger.rows, **outcome.states}
    return _plain(summarise_report(ledger.rows, after, outcome.states.values(), RULES, before=stored))


def _summary_by_counting(outcome: Outcome, ledger: Ledger) -> dict[str, Any]:
    """All rows counted, all layers digested."""
    return _plain(summarise({**ledger.rows, **outcome.states}.values(), RULES, before=None))


def _plain(summary: ReadinessRow) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(summary))
    return found


def _changed(outcome: Outcome, ledger: Ledger) -> dict[RowKey, StateRow]:
    return {key: row for key, row in outcome.states.items() if row != ledger.rows.get(key)}


def _remembered(outcome: Outcome) -> dict[RowKey, Any]:
    return {(row.item, row.subject): row.state for row in outcome.memory}


def test_of_a_fact_that_came_twice_the_newest_counts_although_the_older_one_is_what_was_known() -> None:
    ledger = Ledger()
    for step in [(timedelta(minutes=5), Cadence.TICK, Work.IDLE, {})] * 3:
        known = ledger.submission(step)
        ledger.take_in(known, judge_report(known, RULES, ledger.rows, ledger.memory, now=ledger.now))
    trouble = {"value": ("gpu-nvlink-links", 0), "twice": "gpu-nvlink-links"}
    submission = ledger.submission((timedelta(minutes=5), Cadence.TICK, Work.IDLE, trouble))
    found = judge_report(submission, RULES, ledger.rows, ledger.memory, now=ledger.now)

    assert found.states["gpu-nvlink-links", "gpu0"].raw == "fail"


def test_of_a_sound_idle_node_only_temperatures_and_the_age_of_start_items_change() -> None:
    ledger = Ledger()
    for _ in range(4):
        submission = ledger.submission((timedelta(minutes=5), Cadence.TICK, Work.BUSY, {}))
        ledger.take_in(submission, judge_report(submission, RULES, ledger.rows, ledger.memory, now=ledger.now))
    for place in range(3):
        submission = ledger.submission((timedelta(minutes=5), Cadence.TICK, Work.IDLE, {}))
        outcome = judge_report(submission, RULES, ledger.rows, ledger.memory, now=ledger.now)
        ledger.take_in(submission, outcome)
        if place == 2:
            assert {item for item, _ in outcome.states} == {"gpu-temperature", "gpu-clean"}


def test_a_verdict_that_came_too_soon_to_count_settles_when_the_next_report_repeats_it() -> None:
    ledger, row = Ledger(), ("gpu-nvlink-links", "gpu0")
    tick, failing = timedelta(minutes=5), {"value": ("gpu-nvlink-links", 0)}
    seen = []
    for gap, trouble in [(tick, {}), (tick, failing), (timedelta(seconds=20), {}), (tick, None)]:
        submission = ledger.submission((gap, Cadence.TICK, Work.IDLE, trouble))
        ledger.take_in(submission, judge_report(submission, RULES, ledger.rows, ledger.memory, now=ledger.now))
        seen.append((ledger.rows[row].raw, ledger.rows[row].settled))

    assert seen == [("pass", "pass"), ("fail", "fail"), ("pass", "fail"), ("pass", "pass")]
