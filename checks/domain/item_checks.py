"""What is wrong with an item: criteria that could not be judged are refused when the catalogue is read.

A criterion that compares unlike things, or reads a fact that no agent sends, would make its item *unknown* on every
node for ever. That is safe, but useless, so it is a mistake of the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeVar

from checks.domain.items import COMPARISONS, LIVE_DEFAULT, Condition, Criterion, Item, Operator
from checks.domain.units import Kind, Threshold, Unit, fits
from checks.domain.verdicts import Scope

T = TypeVar("T")

#: Where a mistake is (a key of the item's table), and what it is.
Mistake = tuple[str, str]

#: The fact that tells whether a sample of a subject was taken under load.
LOAD_FACT = {Scope.GPU: "utilization", Scope.NIC: "packets"}

#: ``balanced`` reads these beside its own name: the spread is (max - min) / mean.
SPREAD = ("_min", "_max", "_mean")

#: ``survives`` reads these beside the configured value.
SURVIVES_FACTS = ("live", "configured_state")

_IN_TEXT = frozenset({Operator.ONLY, Operator.WITHOUT, Operator.NEW_ENOUGH})
_LISTS = frozenset({Operator.IN, Operator.NOT_IN}) | _IN_TEXT
_ORDERINGS = frozenset({Operator.LT, Operator.LE, Operator.GT, Operator.GE})
_NUMERIC = _ORDERINGS | {Operator.BITMASK, Operator.DELTA_OVER, Operator.BALANCED}
_UNDER_LOAD = COMPARISONS | {Operator.DELTA_OVER, Operator.SUSTAINED}
_INSIDE = {Operator.SURVIVES: COMPARISONS, Operator.SUSTAINED: _ORDERINGS | {Operator.EQ}}
_OWN_KEYS = {
    "window": ("window", frozenset({Operator.DELTA_OVER})),
    "hold": ("for", frozenset({Operator.SUSTAINED})),
    "compare": ("compare", frozenset({Operator.SUSTAINED, Operator.SURVIVES})),
    "kernel_default": ("kernel_default", frozenset({Operator.SURVIVES})),
    "threshold_fact": ("threshold_fact", COMPARISONS - _LISTS),
    "by": ("by", frozenset({Operator.NEW_ENOUGH})),
}


def mistakes(item: Item) -> Iterator[Mistake]:
    """Every mistake in *item*, with the key it stands at."""
    if item.settle < 1:
        yield "settle", f"must be 1 or more, not {item.settle}"
    for name in item.identity:
        if name not in item.facts:
            yield "identity", f"{name!r} is not among the item's facts"
    for share, fact in item.shares.items():
        yield from _of_share(item, share, fact)
    if not item.criteria and not item.shadow:
        yield "criteria", "are missing; an item without a criterion can never pass"
    for key, criteria in (("criteria", item.criteria), ("warn_criteria", item.warn_criteria)):
        yield from _each(key, criteria, lambda criterion: _of_criterion(item, criterion))
    for key, conditions in (("exempt", item.exempt), ("not_judged", item.not_judged)):
        yield from _each(key, conditions, lambda condition: _of_condition(item, condition))


def _of_share(item: Item, share: str, fact: str) -> Iterator[Mistake]:
    if item.facts.get(share) is not Unit.RATIO:
        yield f"shares.{share}", f"must be among the item's facts, with the unit {Unit.RATIO}"
    if item.facts.get(fact, Unit.TEXT).kind is not Kind.NUMBER:
        yield f"shares.{share}", f"{fact!r} is no number among the item's facts"
    if LOAD_FACT.get(item.scope) != "utilization" or "utilization" not in item.facts:
        yield f"shares.{share}", "compares loaded GPUs: the scope must be gpu, with the fact utilization"


def _each(key: str, held: Iterable[T], check: Callable[[T], Iterable[Mistake]]) -> Iterator[Mistake]:
    for place, one in enumerate(held):
        yield from ((f"{key}[{place}].{where}", message) for where, message in check(one))


def _of_criterion(item: Item, criterion: Criterion) -> Iterator[Mistake]:
    return chain(
        _facts_read(item, criterion),
        _keys_of_others(criterion),
        _inner_comparison(criterion),
        _one_threshold(criterion),
        _thresholds_fit(item, criterion),
        _load(item, criterion),
    )


def facts_of(criterion: Criterion) -> tuple[str, ...]:
    """The facts that *criterion* reads."""
    if criterion.operator is Operator.BALANCED:
        return tuple(criterion.fact + suffix for suffix in SPREAD)
    if criterion.operator is Operator.SURVIVES:
        return (criterion.fact, *SURVIVES_FACTS)
    return tuple(filter(None, (criterion.fact, criterion.threshold_fact, criterion.by)))


def _facts_read(item: Item, criterion: Criterion) -> Iterator[Mistake]:
    for name in facts_of(criterion):
        if name not in item.facts:
            yield "fact", f"{name!r} is not among the item's facts"


def _keys_of_others(criterion: Criterion) -> Iterator[Mistake]:
    for attribute, (key, operators) in _OWN_KEYS.items():
        if getattr(criterion, attribute) is not None and criterion.operator not in operators:
            yield key, f"has no meaning with the operator {criterion.operator}"


def _inner_comparison(criterion: Criterion) -> Iterator[Mistake]:
    allowed = _INSIDE.get(criterion.operator)
    if allowed is not None and criterion.compare not in allowed:
        yield "compare", f"must be one of {', '.join(sorted(allowed))} with the operator {criterion.operator}"
    if criterion.operator is Operator.SUSTAINED and criterion.hold is None:
        yield "for", 'is missing; say for how long, for example "5m"'
    if criterion.operator is Operator.NEW_ENOUGH and criterion.by is None:
        yield "by", "is missing; name the fact that the table is looked up by"


def _one_threshold(criterion: Criterion) -> Iterator[Mistake]:
    given = (criterion.threshold, criterion.threshold_from, criterion.threshold_fact)
    count = sum(one is not None for one in given)
    if count != (0 if criterion.operator is Operator.UNIFORM else 1):
        yield (
            "threshold",
            f"{count} thresholds are given; one of threshold, threshold_from and threshold_fact is needed",
        )


def _thresholds_fit(item: Item, criterion: Criterion) -> Iterator[Mistake]:
    unit = item.facts.get(criterion.fact)
    if unit is None:
        return
    comparison = criterion.compare or criterion.operator
    for key, threshold in (("threshold", criterion.threshold), ("kernel_default", criterion.kernel_default)):
        if threshold is not None and not (key == "kernel_default" and threshold == LIVE_DEFAULT):
            yield from ((key, message) for message in threshold_mistakes(threshold, comparison, unit))


def threshold_mistakes(threshold: Threshold, comparison: Operator, unit: Unit) -> Iterator[str]:
    """What is wrong with *threshold* for values of *unit* under *comparison*."""
    values = threshold if isinstance(threshold, tuple) else (threshold,)
    if isinstance(threshold, tuple) and comparison not in _LISTS:
        yield f"must be one value with the operator {comparison}, not a list"
    if comparison in _LISTS and not isinstance(threshold, tuple):
        yield f"must be a list with the operator {comparison}"
    if comparison in _NUMERIC and unit.kind is not Kind.NUMBER:
        yield f"cannot be held against a fact of unit {unit} with the operator {comparison}"
    if comparison in _IN_TEXT and unit.kind is not Kind.TEXT:
        yield f"cannot be held against a fact of unit {unit} with the operator {comparison}"
    for value in values:
        if not fits(value, Unit.RATIO if comparison is Operator.BALANCED else unit):
            yield f"{value!r} is no value of unit {unit}"


def _load(item: Item, criterion: Criterion) -> Iterator[Mistake]:
    if criterion.needs_load is None:
        return
    fact = LOAD_FACT.get(item.scope)
    if fact is None or fact not in item.facts:
        yield (
            "needs_load",
            f"load is not known here: the scope must be gpu or nic, with the fact {fact or 'utilization'}",
        )
    if criterion.operator not in _UNDER_LOAD:
        yield "needs_load", f"has no meaning with the operator {criterion.operator}"


def _of_condition(item: Item, condition: Condition) -> Iterator[Mistake]:
    if condition.fact is None:
        if not condition.traits:
            yield "fact", "a block needs traits, or a fact with operator and threshold"
        return
    if condition.fact not in item.facts:
        yield "fact", f"{condition.fact!r} is not among the item's facts"
        return
    if condition.operator is None or condition.operator not in COMPARISONS or condition.threshold is None:
        yield "operator", "a condition on a fact needs a plain comparison and a threshold"
        return
    unit = item.facts[condition.fact]
    yield from (("threshold", message) for message in threshold_mistakes(condition.threshold, condition.operator, unit))
