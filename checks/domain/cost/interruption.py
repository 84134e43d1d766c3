"""What one interruption costs, and what all of them do: a visible sum of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from checks.domain.cost.job import HOUR_S, WORLDS, Job, Stop
from checks.domain.cost.money import Input, LineItem, Part, Range, exact
from checks.domain.cost.prices import Price

_FORMULA = "failures × seconds / 3600 × GPUs × p"


def stop_cost(stop: Stop, price: Decimal) -> Range:
    """US dollars for one part of one interruption, at *price* a GPU hour."""
    low, expected, high = (exact(stop.seconds[world] / HOUR_S) * stop.gpus * price for world in WORLDS)
    return Range(low, expected, high)


def interruption_cost(job: Job, price: Decimal) -> dict[str, Range]:
    """What one interruption costs, part by part: acquire, boot, pull, refill, load, init, compile, extra steps,
    lost work."""
    return {stop.key: stop_cost(stop, price) for stop in job.stops}


def interruption_lines(job: Job, price: Decimal, prices: tuple[Price, ...]) -> Iterator[LineItem]:
    """A line for each part of all failures of the run that takes any time."""
    counts = tuple(world.failures for world in job.worlds)
    yield from _lines(job, Part.INTERRUPTIONS, counts, price, prices)


def spot_lines(job: Job, price: Decimal, prices: tuple[Price, ...]) -> Iterator[LineItem]:
    """A line for each part of all restarts because a spot node was taken back; none without spot nodes."""
    if job.scenario.spot_share:
        counts = tuple(world.spot_losses for world in job.worlds)
        yield from _lines(job, Part.SPOT, counts, price, prices)


def _lines(
    job: Job, part: Part, counts: tuple[float, ...], price: Decimal, prices: tuple[Price, ...]
) -> Iterator[LineItem]:
    for stop in job.stops:
        if not any(stop.seconds):
            continue
        low, expected, high = (
            exact(counts[world] * stop.seconds[world] / HOUR_S) * stop.gpus * price for world in WORLDS
        )
        inputs = (
            Input("failures", _three(counts)),
            Input("seconds", _three(stop.seconds), "s"),
            Input("GPUs", str(stop.gpus)),
            Input("p", f"{price:f}", "USD / GPU hour"),
        )
        yield LineItem(f"{part.value}.{stop.key}", part, Range(low, expected, high), _FORMULA, inputs, prices)


def _three(values: tuple[float, ...]) -> str:
    """One value, or all three where they differ."""
    texts = [f"{value:.6g}" for value in values]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)
