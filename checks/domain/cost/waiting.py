"""What it costs that GPUs may not start."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from checks.domain.cost.errors import require_not_negative, require_positive
from checks.domain.cost.job import HOUR_S
from checks.domain.cost.money import exact


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
