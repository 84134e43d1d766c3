"""Numbers out of files, answers and command lines: whoever wrote them, they are finite and in reach, or not there."""

from __future__ import annotations

import math
from typing import Any, Optional

LONGEST_NUMBER = 15
"""Digits that a float holds exactly."""


def finite(value: Any) -> Optional[float]:
    """*value* as a number; None for anything else, truth values and infinities included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def whole(text: str) -> Optional[int]:
    """The number that ASCII digits spell, without a sign; None for anything else."""
    digits = text.strip()
    is_number = digits.isascii() and digits.isdigit()
    return int(digits[:LONGEST_NUMBER]) if is_number else None


def bounded(value: Any, low: float, high: float, default: float) -> float:
    """*value* within *low* and *high*; *default* when it is no number."""
    number = finite(value)
    return default if number is None else min(max(number, low), high)
