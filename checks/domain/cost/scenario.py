"""What an estimate is asked for: every input of it, with its default, and what no run can have refused."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


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
    """What a checkpoint keeps of each parameter."""

    WEIGHTS = "weights"
    ADAM = "adam"
    ADAM_FP32 = "adam_fp32"
    ADAM_MASTER = "adam_master"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartTimes:
    """Seconds from an interruption until steps count again, part by part; see ``interruption``."""

    acquire_s: float = 600.0
    boot_s: float = 0.0
    pull_s: float = 0.0
    refill_s: float = 0.0
    init_s: float = 5.0
    compile_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One what-if. ``days`` are days of training as if nothing ever stopped it; all losses are paid on top.

    Units stand in the names: GB is 1e9 bytes, prices are US dollars a GPU hour, rates are failures of a node in
    1000 days. None: of ``gpu_price`` and ``spot_price`` the price book's; of ``checkpoint_gb`` parameters x layout;
    of ``checkpoints_moved`` every checkpoint that is written; of ``interval_s`` the availability-optimal one.
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

    def with_changes(self, **changes: object) -> Scenario:
        """The scenario with some inputs changed, as a slider does."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]
