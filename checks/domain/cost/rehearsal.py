"""What a rehearsal costs before anyone presses start."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from checks.domain.cost.errors import require_positive
from checks.domain.cost.money import exact

#: Hours of a whole rehearsal.
WHOLE_H: Final = 72.0


def rehearsal_cost(*, gpus: int, price: Decimal, hours: float = WHOLE_H) -> Decimal:
    """US dollars for a rehearsal on so many GPUs at *price* a GPU hour.

    Raises:
        ImpossibleInput: no GPU, no time or no price.
    """
    require_positive("gpus", gpus)
    require_positive("gpu_price", price)
    require_positive("rehearsal_h", hours)
    return gpus * price * exact(hours)
