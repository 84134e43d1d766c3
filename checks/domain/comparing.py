"""Compare one measured value with one threshold."""

from __future__ import annotations

import operator as op
import re
from collections.abc import Callable, Mapping

from checks.domain.errors import UnitMismatch
from checks.domain.items import Operator
from checks.domain.units import UNLIMITED, Kind, Scalar, Threshold, as_number, kind_of

#: How people read a comparison.
SIGNS = {
    Operator.EQ: "=",
    Operator.NE: "≠",
    Operator.LT: "<",
    Operator.LE: "≤",
    Operator.GT: ">",
    Operator.GE: "≥",
    Operator.IN: "one of",
    Operator.NOT_IN: "none of",
    Operator.BITMASK: "no bit of",
    Operator.ONLY: "only",
    Operator.WITHOUT: "none of",
}

#: How a list that came as text says that it is empty.
NOTHING = "none"
_HOW_OFTEN = re.compile(r" \([0-9]+x\)\Z")


def compare(operator: Operator, measured: Scalar, threshold: Threshold) -> bool:
    """Whether *measured* satisfies *operator* against *threshold*; ``bitmask`` holds when no bit of the mask is set.

    Raises:
        UnitMismatch: the two are of unlike kinds; a judge turns this into *unknown*, never into *fail*.
    """
    return COMPARATORS[operator](measured, threshold)


def _same(measured: Scalar, threshold: Threshold) -> bool:
    if isinstance(threshold, tuple):
        raise UnitMismatch("a list of values is compared with in or not_in")
    if UNLIMITED in (measured, threshold) and Kind.NUMBER in (kind_of(measured), kind_of(threshold)):
        return as_number(measured) == as_number(threshold)
    if kind_of(measured) is not kind_of(threshold):
        raise UnitMismatch(f"{measured!r} cannot be compared with {threshold!r}")
    return measured == threshold


def _among(measured: Scalar, threshold: Threshold) -> bool:
    if not isinstance(threshold, tuple):
        raise UnitMismatch("in and not_in need a list of values")
    return any(_same(measured, one) for one in threshold)


def _ordered(holds: Callable[[float, float], bool]) -> Callable[[Scalar, Threshold], bool]:
    return lambda measured, threshold: holds(as_number(measured), as_number(threshold))


def _no_bit_set(measured: Scalar, threshold: Threshold) -> bool:
    return not _whole(measured) & _whole(threshold)


def entries(measured: Scalar) -> tuple[str, ...]:
    """What a list that came as text holds: ``13 (2x), 79`` is 13 and 79, ``none`` is nothing.

    Raises:
        UnitMismatch: it is no such list; an empty text is none, because nobody can tell what was left out.
    """
    found = tuple(_HOW_OFTEN.sub("", one.strip()) for one in str(measured).split(","))
    if not isinstance(measured, str) or not all(found):
        raise UnitMismatch(f"{measured!r} is no list")
    return () if found == (NOTHING,) else found


def _listed(threshold: Threshold) -> tuple[Scalar, ...]:
    if not isinstance(threshold, tuple):
        raise UnitMismatch("only and without need a list of values")
    return threshold


def _only(measured: Scalar, threshold: Threshold) -> bool:
    return set(entries(measured)) <= set(_listed(threshold))


def _without(measured: Scalar, threshold: Threshold) -> bool:
    return set(entries(measured)).isdisjoint(_listed(threshold))


def _whole(value: object) -> int:
    number = as_number(value)
    if not float(number).is_integer():
        raise UnitMismatch(f"{value!r} is not a whole number, and has no bits")
    return int(number)


COMPARATORS: Mapping[Operator, Callable[[Scalar, Threshold], bool]] = {
    Operator.EQ: _same,
    Operator.NE: lambda measured, threshold: not _same(measured, threshold),
    Operator.LT: _ordered(op.lt),
    Operator.LE: _ordered(op.le),
    Operator.GT: _ordered(op.gt),
    Operator.GE: _ordered(op.ge),
    Operator.IN: _among,
    Operator.NOT_IN: lambda measured, threshold: not _among(measured, threshold),
    Operator.BITMASK: _no_bit_set,
    Operator.ONLY: _only,
    Operator.WITHOUT: _without,
}
