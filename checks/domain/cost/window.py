"""A maintenance window every day: its price, its share of the capacity, and what it would have to save."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from checks.domain.cost.errors import require_between, require_not_negative, require_positive
from checks.domain.cost.job import HOUR_S
from checks.domain.cost.money import exact


@dataclass(frozen=True, slots=True)
class Window:
    """A daily window of a whole job against the failures that it is to prevent, in US dollars a day.

    ``failures`` is the loss at the rate that was given: even a window that prevents every failure saves no more.
    """

    cost: Decimal
    failures: Decimal
    share: float

    @property
    def times(self) -> Decimal | None:
        """How many times all failure losses the window costs; None: there are none to prevent."""
        return self.cost / self.failures if self.failures else None

    @property
    def can_pay(self) -> bool:
        """Whether it could pay at all: by preventing every failure it saves at least its price."""
        return self.failures >= self.cost


def window_share(hours_a_day: float) -> float:
    """Share of the capacity that stands still.

    Raises:
        ImpossibleInput: not from 0 to 24 hours.
    """
    require_between("window_h_a_day", hours_a_day, 0, 24)
    return hours_a_day / 24


def window_cost(*, gpus: int, price: Decimal, hours_a_day: float, days: float = 1) -> Decimal:
    """US dollars for GPUs that stand still so many hours on each of so many calendar days.

    Raises:
        ImpossibleInput
    """
    require_positive("gpus", gpus)
    require_positive("gpu_price", price)
    require_not_negative("days", days)
    return gpus * price * exact(window_share(hours_a_day) * 24) * exact(days)


def failure_cost_a_day(*, gpus: int, price: Decimal, nodes: int, rate: float, lost_s: float) -> Decimal:
    """US dollars lost to failures each day: nodes x rate / 1000, each losing the whole job for *lost_s*.

    Raises:
        ImpossibleInput
    """
    for field, value in (("rate", rate), ("lost_s", lost_s)):
        require_not_negative(field, value)
    for field, count in (("gpus", gpus), ("nodes", nodes)):
        require_positive(field, count)
    return exact(nodes * rate / 1000 * lost_s / HOUR_S) * gpus * price


def judge_window(*, gpus: int, price: Decimal, nodes: int, hours_a_day: float, rate: float, lost_s: float) -> Window:
    """A window of *hours_a_day* against failures of *rate* in 1000 node-days that lose *lost_s* each.

    Raises:
        ImpossibleInput
    """
    return Window(
        cost=window_cost(gpus=gpus, price=price, hours_a_day=hours_a_day),
        failures=failure_cost_a_day(gpus=gpus, price=price, nodes=nodes, rate=rate, lost_s=lost_s),
        share=window_share(hours_a_day),
    )
