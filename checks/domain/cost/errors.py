"""Why something cannot be costed, in one sentence."""

from __future__ import annotations

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


def require_positive(field: str, value: float) -> None:
    """Refuse zero, less than zero and what is no number.

    Raises:
        ImpossibleInput
    """
    if not value > 0:
        raise ImpossibleInput(field, "positive", f"{field} is {value}; give a number above 0.")


def require_not_negative(field: str, value: float) -> None:
    """Refuse less than zero and what is no number.

    Raises:
        ImpossibleInput
    """
    if not value >= 0:
        raise ImpossibleInput(field, "not_negative", f"{field} is {value}; it cannot be less than 0.")


def require_share(field: str, value: float) -> None:
    """Refuse what is not between 0 and 1.

    Raises:
        ImpossibleInput
    """
    if not 0 <= value <= 1:
        raise ImpossibleInput(field, "share", f"{field} is {value}; give a share between 0 and 1.")
