"""What an incident cost in money, where somebody said what a GPU hour costs."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from checks.domain.cost.money import exact

HOUR_S: Final = 3600


def money_lost(gpu_seconds: int | None, usd_per_gpu_hour: Decimal | None) -> Decimal | None:
    """US dollars for *gpu_seconds*; None where the time or the price is not known."""
    if gpu_seconds is None or usd_per_gpu_hour is None:
        return None
    return exact(gpu_seconds / HOUR_S) * usd_per_gpu_hour
