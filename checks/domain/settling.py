"""When a change of verdict counts for a signature: the settled verdict.

A gate blocks on a raw *fail* at once; a signature is outdated only by what holds. The settled verdict is the last of
*pass*, *fail* and *na* that held for the item's ``settle`` counted reports (a *warn* settles as *pass*). Only items of
the tick count; any other cadence settles with one measurement, and items asked at a start never settle. *unknown* and
*stale*, reports that are older than the last counted one, and reports too soon after it leave everything as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from checks.domain.items import Item
from checks.domain.verdicts import Cadence, Verdict

_SETTLES_AS = {
    Verdict.PASS: Verdict.PASS,
    Verdict.WARN: Verdict.PASS,
    Verdict.FAIL: Verdict.FAIL,
    Verdict.NA: Verdict.NA,
}


@dataclass(frozen=True, slots=True)
class Settled:
    """What has settled, and what is on its way.

    ``pending`` was measured ``count`` times and still differs from ``verdict``; ``since`` is when the verdict settled.
    ``epoch_change`` is true for the one result that changed a verdict that had settled before.
    """

    verdict: Verdict | None = None
    pending: Verdict | None = None
    count: int = 0
    counted_at: datetime | None = None
    since: datetime | None = None
    epoch_change: bool = False

    @property
    def unsettled(self) -> bool:
        """Whether the last counted measurements do not all say what has settled: a start must wait for that."""
        return self.verdict is None or self.pending is not None


NEVER_SETTLED = Settled()


def settle(previous: Settled | None, raw: Verdict, *, item: Item, observed_at: datetime, min_gap: timedelta) -> Settled:
    """The settled verdict after one more measurement; *min_gap* is the least time between two that count."""
    before = replace(previous or NEVER_SETTLED, epoch_change=False)
    candidate = _SETTLES_AS.get(raw)
    if candidate is None or not counts(before.counted_at, item, observed_at, min_gap):
        return before
    if candidate is before.verdict:
        return replace(before, pending=None, count=0, counted_at=observed_at)
    count = before.count + 1 if candidate is before.pending else 1
    if count >= needed(item):
        return _settled(before, candidate, counted_at=observed_at, since=observed_at)
    return replace(before, pending=candidate, count=count, counted_at=observed_at)


def resettle(previous: Settled | None, raw: Verdict, *, item: Item, at: datetime) -> Settled:
    """The settled verdict after judging again at *at*: it settles at once, and no report is counted."""
    before = replace(previous or NEVER_SETTLED, epoch_change=False)
    candidate = _SETTLES_AS.get(raw)
    if candidate is None or item.cadence is Cadence.START:
        return before
    if candidate is before.verdict:
        return replace(before, pending=None, count=0)
    return _settled(before, candidate, counted_at=before.counted_at, since=at)


def needed(item: Item) -> int:
    """How many counted measurements make a change settle."""
    return item.settle if item.cadence is Cadence.TICK else 1


def settles_as(raw: Verdict) -> Verdict | None:
    """What *raw* settles as when it lasts; none for a verdict that settles nothing."""
    return _SETTLES_AS.get(raw)


def counts(counted_at: datetime | None, item: Item, observed_at: datetime, min_gap: timedelta) -> bool:
    """Whether a measurement of *observed_at* counts after one of *counted_at*; those at a start never do."""
    if item.cadence is Cadence.START:
        return False
    if counted_at is None:
        return True
    if item.cadence is Cadence.TICK:
        return observed_at - counted_at >= min_gap
    return observed_at > counted_at


def _settled(before: Settled, verdict: Verdict, *, counted_at: datetime | None, since: datetime) -> Settled:
    return Settled(verdict=verdict, counted_at=counted_at, since=since, epoch_change=before.verdict is not None)
