"""What it costs that GPUs may not start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from checks.domain.cost.errors import require_not_negative, require_positive
from checks.domain.cost.job import HOUR_S
from checks.domain.cost.money import cents, exact


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """US dollars for an hour of one of a cluster's GPUs, where that is from, and since when it counts."""

    usd: Decimal
    source: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    """GPUs that wait, and what one of them costs an hour."""

    gpus: int
    usd_per_gpu_hour: Decimal

    @property
    def usd_per_hour(self) -> Decimal:
        """US dollars for each hour more."""
        return self.gpus * self.usd_per_gpu_hour

    def over(self, seconds: float) -> Decimal:
        """US dollars for so much time.

        Raises:
            ImpossibleInput: a negative time.
        """
        require_not_negative("seconds", seconds)
        return self.usd_per_hour * exact(seconds / HOUR_S)


def waiting(*, gpus: int, usd_per_gpu_hour: Decimal) -> Waiting:
    """The cost of *gpus* blocked GPUs.

    Raises:
        ImpossibleInput: a negative count, or no price.
    """
    require_not_negative("gpus", gpus)
    require_positive("gpu_price", usd_per_gpu_hour)
    return Waiting(gpus, usd_per_gpu_hour)


@lru_cache(maxsize=256)
def waiting_json(gpus: int, price: GpuPrice | None) -> Mapping[str, object]:
    """What the gate says of *gpus* GPUs that wait: amounts are text, and null where nobody said what a GPU hour costs.

    A gate says it again and again, so it is worked out once.

    Raises:
        ImpossibleInput: as ``waiting``.
    """
    told: dict[str, object] = {"gpus": gpus}
    if price is None:
        return told | dict.fromkeys(("usd_per_hour", "usd_per_gpu_hour", "price_source", "priced_at"))
    cost = waiting(gpus=gpus, usd_per_gpu_hour=price.usd)
    return told | {
        "usd_per_hour": str(cents(cost.usd_per_hour)), "usd_per_gpu_hour": f"{price.usd.normalize():f}",
        "price_source": price.source, "priced_at": price.since.isoformat(),
    }  # fmt: skip
