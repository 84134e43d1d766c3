"""How often the spot market takes a node back."""

from __future__ import annotations

import math

from checks.domain.cost.errors import require_between

_MONTH_DAYS = 30


def spot_rate(monthly_percent: float) -> float:
    """Losses of a node in 1000 days when *monthly_percent* of nodes are taken back within a month.

    Each node by itself: -ln(1 - m) / 30. The loss of a whole pool at once is not in this model.

    Raises:
        ImpossibleInput: less than 0 % or more than 99 %.
    """
    require_between("spot_monthly_percent", monthly_percent, 0, 99)
    return -math.log(1 - monthly_percent / 100) / _MONTH_DAYS * 1000
