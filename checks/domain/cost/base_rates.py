"""Published failure rates: what is known where one's own incidents are too few."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class BaseRate:
    """Failures of a node in 1000 days, what was counted as one, and who published it."""

    key: str
    name: str
    per_1000_node_days: Decimal
    counted: str
    as_of: date
    source: str
    verified: bool
