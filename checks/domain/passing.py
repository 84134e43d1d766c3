"""Whether a value passes beyond doubt: the judge's word on most rows of a sound fleet, for a tenth of its work.

Made once for each item of a `Ruleset`. It says yes only where `checks.domain.evaluation.judge` says *pass*; where it
says no, only the judge knows the verdict and its reason.
"""

from __future__ import annotations

import operator as op
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from checks.domain.comparing import COMPARATORS
from checks.domain.errors import UnitMismatch
from checks.domain.evaluation import holds_any
from checks.domain.items import COMPARISONS, Criterion, Item, NeedsLoad, Operator
from checks.domain.loading import VALID_FOR
from checks.domain.memory import Load, Reading, Value
from checks.domain.outcomes import MET, Sample
from checks.domain.surviving import survives
from checks.domain.units import Scalar, Threshold, as_number

Passes = Callable[[Value, datetime], bool]
Holds = Callable[[Scalar], bool]

_ORDERED = {Operator.LT: op.lt, Operator.LE: op.le, Operator.GT: op.gt, Operator.GE: op.ge}
_NUMBERS = (int, float)
_NO_LOAD = Load(loaded=False, seconds=0.0)


def passing(item: Item) -> Passes:
    """A function that tells whether a value of *item* passes beyond doubt at a moment."""
    tests = [_under_load(one, _met(item, one)) if one.needs_load else _met(item, one) for one in item.all_criteria]
    conditions = item.exempt + item.not_judged

    def passes(value: Value, now: datetime) -> bool:
        if "facts" not in value or "problem" in value:
            return False
        if conditions and holds_any(conditions, Sample(item, value)):
            return False
        try:
            return all(test(value, now) for test in tests)
        except UnitMismatch:
            return False

    return passes if item.criteria else _never


def _never(value: Value, now: datetime) -> bool:
    """An item for which nothing states a threshold never passes."""
    return False


@dataclass(frozen=True, slots=True)
class _Look:
    """How one criterion is met: *read* takes its reading from a value (none: it is not there), *holds* tests one."""

    read: Callable[[Value], Reading | None]
    holds: Callable[[Reading], bool]


def _met(item: Item, criterion: Criterion) -> Passes:
    if criterion.operator is Operator.SURVIVES:
        return lambda value, now: survives(criterion, Sample(item, value)) is MET
    look = _look(criterion)
    if look is None:
        return _never

    def met(value: Value, now: datetime) -> bool:
        reading = look.read(value)
        return reading is not None and look.holds(reading)

    return met


def _under_load(criterion: Criterion, met: Passes) -> Passes:
    """A proof that still counts must meet the criterion, and so must the sample itself where it counts."""
    look, asks_sample = _look(criterion), criterion.needs_load is NeedsLoad.PROVE
    if look is None:
        return _never

    def proved(value: Value, now: datetime) -> bool:
        load = value.get("load", _NO_LOAD)
        evidence = load.get("evidence")
        if evidence is None or not evidence["proved"]:
            return False
        if now.timestamp() - evidence["at"] > VALID_FOR.total_seconds():
            return False
        readings = evidence["worst"].get(criterion.reading_key)
        if readings is None or not all(map(look.holds, readings)):
            return False
        return met(value, now) if asks_sample or load["loaded"] else True

    return proved


def _look(criterion: Criterion) -> _Look | None:
    """How to look at the criterion; none where only the judge knows."""
    fact, key, other = criterion.fact, criterion.reading_key, criterion.threshold_fact
    if criterion.operator is Operator.UNIFORM:
        return _Look(lambda value: _fact(value, fact), lambda reading: True)
    if criterion.operator in COMPARISONS and other is not None:
        compare = COMPARATORS[criterion.operator]
        return _Look(lambda value: _facts(value, fact, other), lambda reading: compare(reading[0], reading[1]))
    if criterion.threshold is None:
        return None
    if criterion.operator in COMPARISONS:
        holds = _holds(criterion.operator, criterion.threshold)
        return _Look(lambda value: _fact(value, fact), lambda reading: holds(reading[0]))
    if criterion.operator is Operator.DELTA_OVER:
        allowed = as_number(criterion.threshold)
        return _Look(lambda value: value.get("gains", {}).get(key), lambda gain: as_number(gain[1]) <= allowed)
    if criterion.operator is Operator.SUSTAINED and criterion.compare is not None and criterion.hold is not None:
        beyond = _holds(criterion.compare, criterion.threshold)
        return _Look(lambda value: value.get("held", {}).get(key), lambda level: not level or not beyond(level[0]))
    return None


def _fact(value: Value, name: str) -> Reading | None:
    found = value["facts"].get(name)
    return None if found is None else [found]


def _facts(value: Value, name: str, other: str) -> Reading | None:
    facts = value["facts"]
    return [facts[name], facts[other]] if name in facts and other in facts else None


def _holds(operator: Operator, threshold: Threshold) -> Holds:
    """The comparison with its threshold bound; the common kinds are compared without asking what they are."""
    compare, kind = COMPARATORS[operator], type(threshold)
    if operator is Operator.EQ:
        return lambda value: (type(value) is kind and value == threshold) or compare(value, threshold)
    ordered = _ORDERED.get(operator)
    if ordered is not None and kind in _NUMBERS:
        return lambda value: ordered(value, threshold) if type(value) in _NUMBERS else compare(value, threshold)
    return lambda value: compare(value, threshold)
