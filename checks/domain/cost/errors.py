"""Why something cannot be costed, in one sentence."""

from __future__ import annotations

import math
from decimal import Decimal

from checks.domain.errors import CountersignError


class ImpossibleInput(CountersignError):
    """An input that no run can have; ``field`` is the input, ``rule`` a stable word for what it breaks."""

    code = "impossible_input"

    def __init__(self, field: str, rule: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.rule = rule


class PriceMissing(CountersignError):
    """The price book has no row for what the scenario needs."""

    code = "price_missing"


def require_positive(field: str, value: float | Decimal) -> None:
    """Refuse zero, less than zero, infinity and what is no number.

    Raises:
        ImpossibleInput
    """
    if not (math.isfinite(value) and value > 0):
        raise ImpossibleInput(field, "positive", f"{field} is {value}; give a number above 0.")


def require_not_negative(field: str, value: float | Decimal) -> None:
    """Refuse less than zero, infinity and what is no number.

    Raises:
        ImpossibleInput
    """
    if not (math.isfinite(value) and value >= 0):
        raise ImpossibleInput(field, "not_negative", f"{field} is {value}; give 0 or more.")


def require_between(field: str, value: float | Decimal, least: float, most: float) -> None:
    """Refuse what does not lie from *least* to *most*.

    Raises:
        ImpossibleInput
    """
    if not (math.isfinite(value) and least <= value <= most):
        raise ImpossibleInput(field, "between", f"{field} is {value}; give a number from {least:g} to {most:g}.")
