"""Scenarios to begin with: one for each claim about costs that people come with."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from checks.domain.cost.scenario import Layout, RestartTimes, Route, Scenario

_LARGE: Final = Scenario(gpus=512, days=30)

#: By key: 100 checkpoints of 120 GB to the internet, a daily window of two hours, the whole rehearsal, a restart on
#: spot nodes with 200 ms and 50 steps of warming up.
READY: Final[Mapping[str, Scenario]] = {
    "article_checkpoints": Scenario(
        gpus=64, days=30, parameters=13e9, layout=Layout.ADAM, checkpoint_gb=Decimal(120), route=Route.INTERNET,
        checkpoints_moved=100,
    ),
    "window_22_2": _LARGE.with_changes(window_h_a_day=2.0),
    "rehearsal_72h": _LARGE.with_changes(rehearsal_h=72.0),
    "spot_restart": _LARGE.with_changes(
        spot_share=1.0, extra_steps=(0, 0, 50), restart=RestartTimes(init_s=5.2),
    ),
}  # fmt: skip
