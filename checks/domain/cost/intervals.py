"""How often a job stops, how often it should save, and how much of its time then trains."""

from __future__ import annotations

import math
from typing import Final

from checks.domain.cost.errors import ImpossibleInput, require_not_negative, require_positive

DAY_S: Final = 86_400.0


def mttf_s(nodes: int, rate: float) -> float:
    """Seconds from one failure of the job to the next, on average, with *rate* failures of a node in 1000 days.

    The job stops when any node does: 1 / (nodes x rate). Without failures it is infinite.

    Raises:
        ImpossibleInput: no node, or a negative rate.
    """
    require_positive("nodes", nodes)
    require_not_negative("rate", rate)
    return math.inf if rate == 0 else DAY_S * 1000 / (nodes * rate)


def young(write_s: float, mttf: float) -> float:
    """Young's checkpoint interval in seconds: sqrt(2 w M).

    Raises:
        ImpossibleInput: no time is needed to write, or none passes between failures.
    """
    _require_writes(write_s, mttf)
    return math.sqrt(2 * write_s * mttf)


def availability_interval(write_s: float, mttf: float, restart_s: float) -> float:
    """The interval in seconds that keeps the job available most: w + sqrt(2 (M + R) w + w^2) (arXiv 2410.18124).

    Good for w much smaller than M, and for faults that are noticed well within an interval.

    Raises:
        ImpossibleInput: as ``young``; or a restart takes as long as the job lives.
    """
    _require_writes(write_s, mttf)
    require_alive(mttf, restart_s)
    return write_s + math.sqrt(2 * (mttf + restart_s) * write_s + write_s**2)


def lost_share(mttf: float, restart_s: float, interval_s: float) -> float:
    """The share of time lost to interruptions: (restart + half an interval) / MTTF.

    Raises:
        ImpossibleInput: the share would be the whole, so that the linear formula says nothing (rule ``ettr_range``),
            or a restart takes as long as the job lives (``mttf_shorter_than_restart``).
    """
    require_positive("interval_s", interval_s)
    require_alive(mttf, restart_s)
    share = (restart_s + interval_s / 2) / mttf
    if share >= 1:
        raise ImpossibleInput(
            "interval_s",
            "ettr_range",
            f"The job fails every {mttf / 3600:.2f} h and loses {(restart_s + interval_s / 2) / 3600:.2f} h each time, "
            "so it never gets on; save more often, restart faster or use fewer nodes.",
        )
    return share


def ettr(*, mttf: float, restart_s: float, interval_s: float, write_s: float) -> float:
    """Expected share of time that trains: (1 - lost share) / (1 + w / interval), as Meta's reliability study has it.

    Raises:
        ImpossibleInput: see ``lost_share``.
    """
    require_not_negative("write_s", write_s)
    return (1 - lost_share(mttf, restart_s, interval_s)) / (1 + write_s / interval_s)


def require_alive(mttf: float, restart_s: float) -> None:
    """Refuse a job that fails again before it is back.

    Raises:
        ImpossibleInput
    """
    require_not_negative("restart_s", restart_s)
    if mttf <= restart_s:
        raise ImpossibleInput(
            "restart",
            "mttf_shorter_than_restart",
            f"The job fails every {mttf:.0f} s and needs {restart_s:.0f} s to restart, so it would never train; "
            "restart faster or use fewer nodes.",
        )


def _require_writes(write_s: float, mttf: float) -> None:
    require_positive("write_s", write_s)
    if mttf == math.inf:
        raise ImpossibleInput("rates", "no_failures", "Without failures no interval is best; give a rate above 0.")
    require_positive("mttf", mttf)
