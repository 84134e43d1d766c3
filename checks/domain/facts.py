"""What a node says: facts it measured and problems it met. Neither is a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from checks.domain.units import Scalar
from checks.domain.verdicts import Reason

#: Subject of an item that speaks of the whole node.
WHOLE_NODE = ""


class ProblemKind(StrEnum):
    """Why a probe could not measure."""

    MISSING = "missing"
    HUNG = "hung"
    DENIED = "denied"
    UNREADABLE = "unreadable"
    NOT_CAPTURED = "not_captured"
    ERROR = "error"

    @property
    def reason(self) -> Reason:
        """The reason that an item with this problem is *unknown*."""
        return Reason(self.value)


@dataclass(frozen=True, slots=True)
class Fact:
    """One measured value, as the probe sent it: ``gpu3 · width · 8 · lanes``.

    ``unit`` stays the text that was sent, so that an unknown one can be named instead of refused.
    """

    item: str
    subject: str
    name: str
    value: Scalar
    unit: str
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """Why (a part of) an item could not be measured. Subject ``None`` or ``"*"`` means every subject."""

    item: str
    subject: str | None
    kind: ProblemKind
    detail: str = ""

    def concerns(self, subject: str) -> bool:
        """Whether this problem speaks of *subject*."""
        return self.subject in (None, "*", WHOLE_NODE, subject)
