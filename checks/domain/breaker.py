"""The circuit breaker: when an item fails on very many nodes at once, the check is in doubt before the nodes are.

It holds drains and messages, and tells people. It never turns anything ready: the gate keeps saying what was judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

#: Flips within this span count together.
SPAN = timedelta(minutes=10)
#: A breaker ends this long after the last flip.
COOL_DOWN = timedelta(minutes=30)
LEAST_NODES = 4
LEAST_SHARE = 0.5

#: Least age of a failure, and greatest age of the sweep, for a node to be drained because of it.
DRAIN_AFTER = timedelta(seconds=120)
SWEEP_WITHIN = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class FailFlip:
    """One node went to raw *fail* on the item; flips made by judging again count too."""

    node: str
    at: datetime


def trips(flips: Iterable[FailFlip], *, nodes: int, now: datetime) -> bool:
    """Whether the *flips* of one item open its breaker in a cluster of *nodes* nodes that the item applies to."""
    flipped = {flip.node for flip in flips if now - SPAN <= flip.at <= now}
    return len(flipped) >= LEAST_NODES and len(flipped) >= LEAST_SHARE * nodes


def ends_at(last_flip: datetime) -> datetime:
    """When an open breaker closes by itself, unless another node flips or a person closes it with a reason."""
    return last_flip + COOL_DOWN


def drain_allowed(*, tripped: bool, swept_at: datetime | None, failing_since: datetime | None, now: datetime) -> bool:
    """Whether a scheduler may drain a node for a failure: no open breaker, a recent sweep, and no passing blip."""
    if tripped or swept_at is None or failing_since is None:
        return False
    return now - swept_at < SWEEP_WITHIN and now - failing_since > DRAIN_AFTER
