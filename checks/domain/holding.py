"""Which level a value has held for long enough, whatever the threshold will be.

For a criterion such as "> 85 °C for 5 minutes on end" it is enough to know the *level* that was held: the lowest
temperature of the last five minutes. It fails any threshold below it and no other, so it can be judged again later. A
level is followed as a staircase: each step says since when the value has not been lower than that.
"""

from __future__ import annotations

from collections.abc import Iterable

from checks.domain.items import Criterion, NeedsLoad, Operator
from checks.domain.memory import ItemMemory, Reading, Step
from checks.domain.units import Scalar, as_number

#: Between two samples a value is taken to have been held: a node that reports rarely must not pass by it. Over a gap
#: longer than the longest interval that a cluster may set, nothing is known, and holding starts anew.
LONGEST_GAP_S = 3600.0

_UPWARDS = frozenset({Operator.GT, Operator.GE})


def held(
    criteria: Iterable[Criterion],
    facts: dict[str, Scalar],
    before: ItemMemory,
    after: ItemMemory,
    *,
    at: float,
    boot: str,
) -> dict[str, Reading]:
    """The level that each ``sustained`` criterion looks at; the staircases are remembered in *after*."""
    unbroken = before.get("boot") == boot and at - before.get("at", at) <= LONGEST_GAP_S
    runs = after["runs"] = dict(before.get("runs", {})) if unbroken else {}
    found: dict[str, Reading] = {}
    for criterion in criteria:
        key = criterion.reading_key
        if criterion.needs_load is NeedsLoad.ONLY and criterion.fact not in facts:
            runs.pop(key, None)  # what is held under load only ends with the load
        elif criterion.operator is Operator.SUSTAINED and criterion.fact in facts:
            runs[key] = _recent(climb(runs.get(key, []), criterion.compare, at, facts[criterion.fact]), criterion, at)
            found[key] = [step["level"] for step in runs[key][:1] if _old_enough(step, criterion, at)]
    return found


def climb(steps: list[Step], compare: Operator | None, at: float, value: Scalar) -> list[Step]:
    """The staircase after one more sample: steps that the sample falls short of are lowered to it."""
    if compare is Operator.EQ:
        return steps[-1:] if steps and steps[-1]["level"] == value else [Step(since=at, level=value)]
    sign = 1 if compare in _UPWARDS else -1
    kept, since = [*steps], at
    while kept and sign * as_number(kept[-1]["level"]) >= sign * as_number(value):
        since = kept.pop()["since"]
    return [*kept, Step(since=since, level=value)]


def _recent(steps: list[Step], criterion: Criterion, at: float) -> list[Step]:
    """The newest step that is old enough, and those after it: older ones say less."""
    old = sum(_old_enough(step, criterion, at) for step in steps)
    return steps[max(old - 1, 0) :]


def _old_enough(step: Step, criterion: Criterion, at: float) -> bool:
    return criterion.hold is not None and at - step["since"] >= criterion.hold.total_seconds()
