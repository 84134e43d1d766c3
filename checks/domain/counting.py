"""What a counter gained, as far as it can be known.

A gain is a pair, least and most. It is exact between two samples of one boot. A counter that went back was reset, so
all that it shows was gained since: never negative traffic. Of a counter that is seen for the first time, or for the
first time after a reboot that may or may not have reset it, only the bounds are known; where they straddle a threshold
the judge says *unknown*, and the next report settles it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta

from checks.domain.items import Criterion, Operator
from checks.domain.memory import ItemMemory, Reading
from checks.domain.units import Scalar

#: Into how many parts a time span is cut: a gain counts for at most 1/30 longer than the span says, never shorter.
_PARTS = 30


def gain(before: float | None, now: float, *, same_boot: bool) -> tuple[float, float]:
    """Least and most that a counter gained between two samples."""
    if before is None:
        return 0, now
    if now < before:
        return now, now
    return now - before, (now - before if same_boot else now)


def gains(
    criteria: Iterable[Criterion],
    facts: dict[str, Scalar],
    before: ItemMemory,
    after: ItemMemory,
    *,
    at: float,
    boot: str,
) -> dict[str, Reading]:
    """The gain that each ``delta_over`` criterion looks at; the counters are remembered in *after*."""
    counters = after["counters"] = dict(before.get("counters", {}))
    windows = after["windows"] = dict(before.get("windows", {}))
    same_boot = before.get("boot") == boot
    found: dict[str, Reading] = {}
    for criterion in criteria:
        now = _count(facts.get(criterion.fact))
        if criterion.operator is Operator.DELTA_OVER and now is not None:
            step = gain(before.get("counters", {}).get(criterion.fact), now, same_boot=same_boot)
            counters[criterion.fact] = now
            found[criterion.reading_key] = _over(criterion, step, windows, at)
    return found


def _over(
    criterion: Criterion, step: tuple[float, float], windows: dict[str, dict[str, list[float]]], at: float
) -> Reading:
    if criterion.window is None:
        return list(step)
    kept = windows[criterion.reading_key] = _window(windows.get(criterion.reading_key, {}), step, criterion.window, at)
    return [sum(part[0] for part in kept.values()), sum(part[1] for part in kept.values())]


def _window(
    parts: dict[str, list[float]], step: tuple[float, float], window: timedelta, at: float
) -> dict[str, list[float]]:
    """The gains of a time span by parts of it; what is older than the span is dropped, and no gain adds no part."""
    part = math.floor(at / (window.total_seconds() / _PARTS))
    kept = {key: held for key, held in parts.items() if int(key) >= part - _PARTS}
    if any(step):
        least, most = kept.get(str(part), (0, 0))
        kept[str(part)] = [least + step[0], most + step[1]]
    return kept


def _count(value: Scalar | None) -> float | None:
    """A counter's value; anything but a finite number from 0 on is no count."""
    if isinstance(value, bool | str) or value is None or value < 0:
        return None
    return value
