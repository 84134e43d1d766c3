"""GPUs that are paid and do no step: what they cost, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from checks.domain.cost.errors import ImpossibleInput, require_not_negative, require_positive
from checks.domain.cost.money import Input, LineItem, Part, Range, exact


def idle_lines(*, gpus: int, price: Decimal, hours: Mapping[str, float]) -> tuple[LineItem, ...]:
    """A line for each cause of hours without a step (queue, maintenance, restart, data stall).

    Raises:
        ImpossibleInput: negative hours, no GPU.
    """
    require_positive("gpus", gpus)
    require_positive("gpu_price", price)
    return tuple(_line(gpus, price, cause, spent) for cause, spent in hours.items())


def _line(gpus: int, price: Decimal, cause: str, spent: float) -> LineItem:
    require_not_negative(cause, spent)
    inputs = (Input("N", str(gpus), "GPUs"), Input("h", f"{spent:g}", "h"), Input("p", f"{price:f}", "USD / GPU hour"))
    return LineItem(f"idle.{cause}", Part.IDLE, Range.exactly(gpus * price * exact(spent)), "N × h × p", inputs)


def goodput(*, useful_gpu_s: float, paid_gpu_s: float) -> float:
    """Share of the paid GPU seconds in which steps counted.

    Raises:
        ImpossibleInput: more useful than paid, nothing paid, or a negative time.
    """
    require_positive("paid_gpu_s", paid_gpu_s)
    require_not_negative("useful_gpu_s", useful_gpu_s)
    if useful_gpu_s > paid_gpu_s:
        raise ImpossibleInput(
            "useful_gpu_s", "more_than_paid",
            f"{useful_gpu_s:g} useful GPU seconds are more than the {paid_gpu_s:g} paid ones; check both.",
        )  # fmt: skip
    return useful_gpu_s / paid_gpu_s
