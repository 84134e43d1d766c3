"""Showing dollars in another currency, by one dated rate. What is stored and computed stays in dollars."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from checks.domain.cost.errors import require_positive
from checks.domain.cost.money import cents
from checks.domain.cost.prices import AGED_AFTER


@dataclass(frozen=True, slots=True)
class Rate:
    """How many units of *currency* (ISO 4217) one US dollar was on a day, and who says so."""

    currency: str
    per_usd: Decimal
    as_of: date
    source: str
    verified: bool

    def is_aged(self, today: date) -> bool:
        """Whether the rate is so old that it should be looked up again."""
        return today - self.as_of > AGED_AFTER


def convert(amount: Decimal, rate: Rate) -> Decimal:
    """US dollars in the rate's currency, in whole cents of it.

    Raises:
        ImpossibleInput: the rate is not above 0.
    """
    require_positive("per_usd", rate.per_usd)
    return cents(amount * rate.per_usd)
