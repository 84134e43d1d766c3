"""Ranges of money, the line items made of them, and their sum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Final

from checks.domain.cost.prices import Price

_CENT: Final = Decimal("0.01")
#: Stands in every estimate: another formula, default or meaning of a line gets another number.
FORMULA_VERSION: Final = 1


def cents(amount: Decimal) -> Decimal:
    """The amount as people read it: whole cents, halves up."""
    return amount.quantize(_CENT, rounding=ROUND_HALF_UP)


def exact(number: float) -> Decimal:
    """A rate or a time as a factor of money: the decimal number that it prints as."""
    return Decimal(str(number))


@dataclass(frozen=True, slots=True)
class Range:
    """US dollars in three worlds: few failures, as many as expected, many. Always low <= expected <= high."""

    low: Decimal
    expected: Decimal
    high: Decimal

    def __post_init__(self) -> None:
        if not self.low <= self.expected <= self.high:
            raise ValueError(f"a range must rise: {self.low}, {self.expected}, {self.high}")

    @classmethod
    def exactly(cls, amount: Decimal) -> Range:
        """An amount that does not depend on luck."""
        return cls(amount, amount, amount)

    @classmethod
    def total(cls, parts: Iterable[Range]) -> Range:
        """The sum in each of the three worlds; nothing is 0."""
        low = expected = high = Decimal(0)
        for part in parts:
            low, expected, high = low + part.low, expected + part.expected, high + part.high
        return cls(low, expected, high)

    def times(self, factor: Decimal) -> Range:
        """Each of the three amounts *factor* times, which must not be negative."""
        return Range(self.low * factor, self.expected * factor, self.high * factor)

    @property
    def is_exact(self) -> bool:
        """Whether luck plays no part."""
        return self.low == self.high


class Part(StrEnum):
    """What money goes to: the parts of a stacked bar. Each line belongs to exactly one."""

    TRAINING = "training"
    CHECKPOINTS = "checkpoints"
    INTERRUPTIONS = "interruptions"
    SPOT = "spot"
    WINDOW = "window"
    IDLE = "idle"
    WARM_POOL = "warm_pool"
    REHEARSAL = "rehearsal"
    EGRESS = "egress"
    STORAGE = "storage"
    REQUESTS = "requests"


@dataclass(frozen=True, slots=True)
class Input:
    """One figure that went into a line: its name as in the formula, its value as text, its unit."""

    name: str
    value: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class LineItem:
    """One amount of an estimate, with everything that it was made of.

    ``key`` is stable (``interruptions.lost_work``); pages and programs name lines by it. ``prices`` are copies.
    """

    key: str
    part: Part
    amount: Range
    formula: str
    inputs: tuple[Input, ...] = ()
    prices: tuple[Price, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Line items and what follows from them; the total is their sum and nothing else.

    ``unpriced`` names the parts that the price book has no row for: they cost something, and nobody knows how much.
    """

    lines: tuple[LineItem, ...]
    unpriced: tuple[Part, ...] = ()
    formula_version: int = FORMULA_VERSION

    @property
    def total(self) -> Range:
        """The sum of all lines."""
        return Range.total(line.amount for line in self.lines)

    @property
    def parts(self) -> dict[Part, Range]:
        """The sum of each part that has a line, in the order of ``Part``."""
        present = {line.part for line in self.lines}
        return {part: self.part(part) for part in Part if part in present}

    def part(self, part: Part) -> Range:
        """The sum of the lines of one part."""
        return Range.total(line.amount for line in self.lines if line.part is part)

    @property
    def prices(self) -> tuple[Price, ...]:
        """Every price row that a line was made of, once, in the order of the lines."""
        return tuple(dict.fromkeys(price for line in self.lines for price in line.prices))

    @property
    def unverified(self) -> tuple[Price, ...]:
        """The price rows among them that nobody has checked against their source."""
        return tuple(price for price in self.prices if not price.verified)
