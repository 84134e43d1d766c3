"""Step two of judging: a value becomes a verdict. Pure, and the only step that judging again repeats.

The order in which an item is looked at:

1. measured facts excuse it (``exempt``): *na*. Nothing else gives *na* here; a profile's traits are the ruleset's;
2. nothing states a threshold for it, or nothing of it was measured: *unknown*;
3. it cannot be judged now (``not_judged``), e.g. because a job runs on the GPU: *unknown*;
4. its criteria, worst first: one missed is *fail*, or *unknown* where it says how much must have been measured; one
   that cannot be told is *unknown*; a milder one missed is *warn*.

A problem that the probe met makes the item *unknown* unless what it did measure already fails: a problem never helps an
item to pass, nor hides a failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from checks.domain.comparing import compare
from checks.domain.errors import UnitMismatch
from checks.domain.items import Condition, Criterion, Item
from checks.domain.loading import outcome_under_load
from checks.domain.memory import Value
from checks.domain.operators import outcome, too_little
from checks.domain.outcomes import Outcome, Sample
from checks.domain.verdicts import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """A raw verdict with its reason; ``missed`` are places in `Item.all_criteria` of the criteria that do not hold."""

    verdict: Verdict
    reason: Reason | None = None
    detail: str = ""
    missed: tuple[int, ...] = ()


NOT_APPLICABLE = Judgement(Verdict.NA)
PASSED = Judgement(Verdict.PASS)


def judge(item: Item, value: Value, *, now: datetime) -> Judgement:
    """The raw verdict of one row of *item* (as its ruleset resolved it) from its *value*.

    *now* ends evidence under load that has grown too old; whether the row itself is stale is asked on read.
    """
    sample = Sample(item, value)
    if holds_any(item.exempt, sample):
        return NOT_APPLICABLE
    if not item.criteria:
        return Judgement(Verdict.UNKNOWN, Reason.NO_THRESHOLD, "nothing states what it must meet")
    problem = _problem(value)
    if problem and not value.get("facts"):
        return problem
    if holds_any(item.not_judged, sample):
        return Judgement(Verdict.UNKNOWN, Reason.NOT_JUDGED, "it cannot be judged while this holds")
    judgement = _of_criteria(sample, now)
    return problem if problem and judgement.verdict is not Verdict.FAIL else judgement


def _problem(value: Value) -> Judgement | None:
    blank = value.get("problem")
    if blank:
        return Judgement(Verdict.UNKNOWN, Reason(blank["reason"]), blank["detail"])
    if "facts" not in value:
        return Judgement(Verdict.UNKNOWN, Reason.NEVER_MEASURED)
    return None


def holds_any(conditions: Iterable[Condition], sample: Sample) -> bool:
    """Whether one of the conditions holds for certain."""
    return any(_holds(condition, sample) for condition in conditions)


def _holds(condition: Condition, sample: Sample) -> bool:
    """Whether a condition holds for certain: what was not measured, or cannot be compared, never fulfils it."""
    measured = sample.value.get("facts", {}).get(condition.fact or "")
    if measured is None or condition.operator is None or condition.threshold is None:
        return False
    try:
        return compare(condition.operator, measured, condition.threshold)
    except UnitMismatch:
        return False


def _of_criteria(sample: Sample, now: datetime) -> Judgement:
    strict = [_outcome(criterion, sample, now) for criterion in sample.item.criteria]
    mild = [_softened(_outcome(criterion, sample, now)) for criterion in sample.item.warn_criteria]
    outcomes = strict + mild
    verdict = next((bad for bad in _WORST_FIRST if any(one.verdict is bad for one in outcomes)), Verdict.PASS)
    if verdict is Verdict.PASS:
        return PASSED
    missed = tuple(place for place, one in enumerate(outcomes) if one.verdict in (Verdict.FAIL, Verdict.WARN))
    telling = min((one for one in outcomes if one.verdict is verdict), key=_less_telling)
    return Judgement(verdict, telling.reason, telling.detail, missed)


_WORST_FIRST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN)


def _outcome(criterion: Criterion, sample: Sample, now: datetime) -> Outcome:
    if criterion.amount:
        return too_little(criterion, sample)
    return outcome_under_load(criterion, sample, now) if criterion.needs_load else outcome(criterion, sample)


def _softened(mild: Outcome) -> Outcome:
    return Outcome(Verdict.WARN, mild.reason, mild.detail) if mild.verdict is Verdict.FAIL else mild


def _less_telling(one: Outcome) -> bool:
    """Load that is still missing is the mildest reason: it stops a start only, so any other reason comes first."""
    return one.reason is Reason.NOT_LOADED
