"""What can be read from one saved output of a tool, apart from any node."""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Optional, Tuple, Union

Value = Union[bool, int, float, str]

JSON_INTEGER_MAX = 2**63 - 1
"""Larger numbers are sentinels of a tool, or damage."""


class SavedFact(NamedTuple):
    """One value that the text states."""

    name: str
    value: Value
    unit: str
    subject: str = ""


class Saved(NamedTuple):
    """The facts of a text, and in a sentence each what could not be read or went wrong."""

    facts: Tuple[SavedFact, ...]
    problems: Tuple[str, ...]


class SavedKind(NamedTuple):
    """A kind of output: the checklist item that its facts support, if any, and its reader."""

    item: str
    read: Callable[[str], Saved]


class Reading:
    """Collects what a reader finds."""

    def __init__(self) -> None:
        self._facts: List[SavedFact] = []
        self._problems: List[str] = []

    def fact(self, name: str, value: Optional[Value], unit: str, subject: str = "") -> None:
        """Keep a value; None is what the text does not state."""
        if value is not None:
            self._facts.append(SavedFact(name, value, unit, subject))

    def problem(self, sentence: str) -> None:
        """Say what is missing or went wrong."""
        self._problems.append(sentence)

    def result(self) -> Saved:
        return Saved(tuple(self._facts), tuple(self._problems))


def whole(text: Optional[str]) -> Optional[int]:
    """A whole number that stands alone, within what a report can carry."""
    token = (text or "").strip()
    digits = token[1:] if token[:1] == "-" else token
    return int(token) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def decimal(text: Optional[str]) -> Optional[float]:
    """A finite decimal number that stands alone, without exponent."""
    token = (text or "").strip()
    left, _, right = token.partition(".")
    digits = left.lstrip("-") + right
    good = (
        digits.isascii() and digits.isdigit() and len(digits) < 25 and token.count("-") <= 1 and left not in ("", "-")
    )
    return float(token) if good else None
