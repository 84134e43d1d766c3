"""What an estimate is asked for: every input of it, with its default, and what no run can have refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from checks.domain.cost.errors import ImpossibleInput, require_between


class Route(StrEnum):
    """The way of checkpoint bytes, which decides what they cost."""

    SAME_REGION = "same_region"
    NAT = "nat"
    ZONE = "zone"
    REGION = "region"
    INTERNET = "internet"
    ACCELERATED = "accelerated"
    INTO = "into"


class Layout(StrEnum):
    """What a checkpoint keeps of each parameter; the bytes of each are in ``sizes``."""

    WEIGHTS = "weights"
    ADAM = "adam"
    ADAM_FP32 = "adam_fp32"
    ADAM_MASTER = "adam_master"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartTimes:
    """Seconds of each part of a restart that is not measured by bytes: another node, its boot, the image, the data
    cache, communicators, compilation and autotuning."""

    acquire_s: float = 600.0
    boot_s: float = 0.0
    pull_s: float = 0.0
    refill_s: float = 0.0
    init_s: float = 5.0
    compile_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One what-if. ``days`` are days of training as if nothing ever stopped it; all losses are paid on top.

    Units stand in the names: GB is 1e9 bytes, prices are US dollars a GPU hour, ``rates`` are failures of a node in
    1000 days (few, as expected, many). None: of ``gpu_price`` and ``spot_price`` the price book's; of
    ``checkpoint_gb`` parameters x layout; of ``checkpoints_moved`` every checkpoint that is written; of ``interval_s``
    the availability-optimal one.

    The default rates are Meta's two clusters (arXiv 2410.21680) and what the measured MTTF of small jobs implies.
    """

    gpus: int
    days: float
    gpus_per_node: int = 8
    sku: str = "p5.48xlarge"
    region: str = "us-east-1"
    gpu_price: Decimal | None = None
    spot_price: Decimal | None = None
    spot_share: float = 0.0
    spot_monthly_percent: float = 10.0
    parameters: float = 13e9
    layout: Layout = Layout.ADAM_MASTER
    checkpoint_gb: Decimal | None = None
    interval_s: float | None = 1800.0
    keep_last: int = 3
    keep_every: int = 0
    write_gb_s: float = 10.0
    read_gb_s: float = 10.0
    route: Route = Route.SAME_REGION
    destination: str = ""
    month_to_date_gb: Decimal = Decimal(0)
    checkpoints_moved: int | None = None
    restart: RestartTimes = RestartTimes()
    step_s: float = 10.0
    extra_steps: tuple[int, int, int] = (0, 0, 0)
    rates: tuple[float, float, float] = (2.34, 6.5, 22.0)
    window_h_a_day: float = 0.0
    idle_h: float = 0.0
    warm_nodes: int = 0
    warm_acquire_s: float = 60.0
    rehearsal_h: float = 0.0

    def with_changes(self, **changes: Any) -> Scenario:
        """The scenario with some inputs changed, as a slider does."""
        return dataclasses.replace(self, **changes)

    def require_possible(self) -> None:
        """Refuse what no run can have.

        Raises:
            ImpossibleInput: a size, count, time, price or share out of its bounds; rates or extra steps that do not
                rise; spot dearer than on-demand. The message names the input and says what to give.
        """
        for field, (least, most) in BOUNDS.items():
            value = getattr(self, field)
            if value is not None:
                require_between(field, value, least, most)
        for field in RestartTimes.__dataclass_fields__:
            require_between(field, getattr(self.restart, field), 0, _DAY_S)
        _require_rising("rates", self.rates, 1000)
        _require_rising("extra_steps", self.extra_steps, 1_000_000)
        require_cheaper(self.spot_price, self.gpu_price)


_DAY_S: Final = 86_400
_SMALLEST: Final = 0.000001

#: The least and the most that an input may be. Far ends are where a slip of the finger, not a cluster, lies.
BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "gpus": (1, 10_000_000),
    "days": (_SMALLEST, 3660),
    "gpus_per_node": (1, 1024),
    "gpu_price": (_SMALLEST, 1000),
    "spot_price": (_SMALLEST, 1000),
    "spot_share": (0, 1),
    "spot_monthly_percent": (0, 99),
    "parameters": (1, 1e15),
    "checkpoint_gb": (_SMALLEST, 1e9),
    "interval_s": (1, 30 * _DAY_S),
    "keep_last": (0, 1_000_000),
    "keep_every": (0, 1_000_000),
    "write_gb_s": (0.001, 100_000),
    "read_gb_s": (0.001, 100_000),
    "month_to_date_gb": (0, 1e12),
    "checkpoints_moved": (0, 10_000_000),
    "step_s": (0, _DAY_S),
    "window_h_a_day": (0, 23),
    "idle_h": (0, 24 * 3660),
    "warm_nodes": (0, 1_000_000),
    "warm_acquire_s": (0, _DAY_S),
    "rehearsal_h": (0, 24 * 365),
}


def require_cheaper(spot: Decimal | None, on_demand: Decimal | None) -> None:
    """Refuse a spot price above the on-demand price: such a row is a limit or a missing pool, never an offer.

    Raises:
        ImpossibleInput
    """
    if spot is not None and on_demand is not None and spot > on_demand:
        raise ImpossibleInput(
            "spot_price",
            "spot_dearer",
            f"Spot at {spot} USD is dearer than on-demand at {on_demand} USD; "
            "check the two prices, or hire on-demand (spot_share 0).",
        )


def _require_rising(field: str, values: Sequence[float], most: float) -> None:
    for value in values:
        require_between(field, value, 0, most)
    if len(values) != 3 or list(values) != sorted(values):
        raise ImpossibleInput(field, "rising", f"{field} must be three numbers that rise: few, expected, many.")
