"""A bill against the estimate that was frozen before: how far apart, and by which cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from checks.domain.cost.money import Estimate, Part, Range

AMBER_FROM: Final = Decimal(15)  # per cent above what was expected
RED_FROM: Final = Decimal(30)


class Cause(StrEnum):
    """What a line of a bill is for."""

    COMPUTE = "compute"
    EGRESS = "egress"
    STORAGE = "storage"
    REQUESTS = "requests"
    OTHER = "other"


class Level(StrEnum):
    """How far a bill is above its estimate."""

    OK = "ok"
    AMBER = "amber"
    RED = "red"


_OWN: Final = {
    Part.EGRESS: Cause.EGRESS,
    Part.STORAGE: Cause.STORAGE,
    Part.REQUESTS: Cause.REQUESTS,
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One cause, or (``cause`` None) the whole: estimated and billed US dollars."""

    cause: Cause | None
    estimated: Range
    billed: Decimal

    @property
    def over_percent(self) -> Decimal | None:
        """How far the bill is above what was expected; None: nothing was expected."""
        if not self.estimated.expected:
            return None
        return (self.billed - self.estimated.expected) / self.estimated.expected * 100

    @property
    def level(self) -> Level:
        """Amber from 15 % above, red from 30 %, and for anything billed where nothing was expected."""
        over = self.over_percent
        if over is None:
            return Level.RED if self.billed > 0 else Level.OK
        return Level.RED if over >= RED_FROM else Level.AMBER if over >= AMBER_FROM else Level.OK


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every cause that was estimated or billed, the largest overrun first, and the whole."""

    causes: tuple[Compared, ...]
    whole: Compared


def cause_of(part: Part) -> Cause:
    """Which line of a bill a part of an estimate comes back as: whatever hires GPUs is compute."""
    return _OWN.get(part, Cause.COMPUTE)


def compare(estimate: Estimate, billed: Mapping[Cause, Decimal]) -> Comparison:
    """What was billed against what was estimated."""
    found = [Compared(cause, _estimated(estimate, cause), billed.get(cause, Decimal(0))) for cause in Cause]
    causes = [one for one in found if one.billed or one.estimated.high]
    causes.sort(key=lambda one: one.estimated.expected - one.billed)
    return Comparison(tuple(causes), Compared(None, estimate.total, sum(billed.values(), Decimal(0))))


def _estimated(estimate: Estimate, cause: Cause) -> Range:
    return Range.total(line.amount for line in estimate.lines if cause_of(line.part) is cause)
