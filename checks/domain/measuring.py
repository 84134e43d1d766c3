"""Step one of judging: facts and memory become a value. It is done once, when a report comes in.

The value holds what was measured, free of thresholds; `checks.domain.evaluation` makes a verdict of it, now and
whenever the rules change. A fact in another unit than the catalogue states is set aside and named, so that its criteria
are *unknown* and not wrong. The item must come from a `Ruleset`, which has put the thresholds in: they only decide here
whether a loaded sample interrupts a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from checks.domain.counting import gains
from checks.domain.facts import WHOLE_NODE, Fact, Problem, ProblemKind
from checks.domain.holding import held
from checks.domain.items import Item, Operator
from checks.domain.loading import PACKETS, remember_load, shown_load
from checks.domain.memory import Blank, ItemMemory, Value
from checks.domain.outcomes import Sample
from checks.domain.peers import shares_of
from checks.domain.profiles import Ruleset
from checks.domain.surviving import remember_boot
from checks.domain.units import Scalar, fits
from checks.domain.verdicts import Reason, Scope


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of step one: a row's value, and what to remember for the next report."""

    value: Value
    memory: ItemMemory

    @property
    def problem(self) -> Reason | None:
        """Why (a part of) the item could not be measured."""
        blank = self.value.get("problem")
        return Reason(blank["reason"]) if blank else None

    @property
    def detail(self) -> str:
        """What the probe said about the problem."""
        blank = self.value.get("problem")
        return blank["detail"] if blank else ""


def unmeasured(reason: Reason, detail: str = "") -> Value:
    """The value of a row that no report speaks of: never measured, not reported, missing."""
    return Value(problem=Blank(reason=reason.value, detail=detail))


def measure(
    item: Item,
    facts: Iterable[Fact],
    problems: Iterable[Problem],
    memory: ItemMemory,
    *,
    observed_at: datetime,
    boot_id: str,
) -> Measured:
    """Measure one subject of *item* from its own *facts* and *problems*.

    The report must be newer than the last one that changed *memory*; neither argument is changed.
    """
    at = observed_at.timestamp()
    known, mismatched = _sorted_out(item, facts)
    after = ItemMemory(boot=boot_id, at=at)
    value = Value(item_version=item.version, facts=known)
    if mismatched:
        value["mismatched"] = mismatched
    if blank := _blank(problems):
        value["problem"] = blank
    _derive(item, value, memory, after)
    return Measured(value, after)


def measure_said(
    item: Item, said: dict[str, Scalar], memory: ItemMemory, *, observed_at: datetime, boot_id: str
) -> Measured:
    """`measure` for facts that are sorted out already: each once, in the unit and of the kind that the item states."""
    after = ItemMemory(boot=boot_id, at=observed_at.timestamp())
    value = Value(item_version=item.version, facts=said)
    _derive(item, value, memory, after)
    return Measured(value, after)


def measure_covered(
    ruleset: Ruleset,
    item_key: str,
    facts: Iterable[Fact],
    problems: Iterable[Problem],
    memories: Mapping[str, ItemMemory],
    *,
    observed_at: datetime,
    boot_id: str,
) -> dict[str, Measured]:
    """Measure every subject of an item that a report covers: those expected, reported, or remembered in *memories*.

    A subject without a fact or a problem is *missing* where others were seen (too few), else *not measured*.
    """
    item, facts, problems = ruleset.items[item_key], list(facts), list(problems)
    facts += shares_of(item, facts)
    expected, seen = ruleset.subjects(item_key), {fact.subject for fact in facts} - {WHOLE_NODE}
    subjects = expected if expected == (WHOLE_NODE,) else tuple(dict.fromkeys([*expected, *sorted(seen | {*memories})]))
    result = {}
    for subject in filter(lambda one: one or expected == (WHOLE_NODE,), subjects):
        # What a probe says of the node itself holds for each of its subjects: "one NUMA node", "no driver".
        own = [fact for fact in facts if fact.subject in (WHOLE_NODE, subject)]
        why = [problem for problem in problems if problem.concerns(subject)]
        if seen and not own and not why:
            why = [Problem(item_key, subject, ProblemKind.MISSING, f"{len(seen)} of {len(expected)} were seen")]
        memory = memories.get(subject, ItemMemory())
        result[subject] = measure(item, own, why, memory, observed_at=observed_at, boot_id=boot_id)
    return result


def _sorted_out(item: Item, facts: Iterable[Fact]) -> tuple[dict[str, Scalar], dict[str, str]]:
    """The facts in the units that the catalogue states, and why others were set aside; the latest of a name counts."""
    known: dict[str, Scalar] = {}
    mismatched: dict[str, str] = {}
    for fact in sorted(facts, key=lambda one: one.observed_at):
        unit = item.facts.get(fact.name)
        if unit is None:
            continue
        if fact.unit == unit and fits(fact.value, unit):
            known[fact.name] = fact.value
        else:
            mismatched[fact.name] = f"{fact.name} came as {fact.value!r} in {fact.unit}; expected is {unit}"
    return known, {name: why for name, why in mismatched.items() if name not in known}


def _blank(problems: Iterable[Problem]) -> Blank | None:
    first = next(iter(problems), None)
    return None if first is None else Blank(reason=first.kind.reason.value, detail=first.detail)


def _derive(item: Item, value: Value, before: ItemMemory, after: ItemMemory) -> None:
    """Put into *value* what its facts mean together with what was remembered, and into *after* what to remember."""
    facts, at, boot, operators = value["facts"], after["at"], after["boot"], item.operators
    counts_load = item.needs_load and item.scope is Scope.NIC
    if Operator.DELTA_OVER in operators or counts_load:
        criteria = (*item.all_criteria, PACKETS) if counts_load else item.all_criteria
        value["gains"] = gains(criteria, facts, before, after, at=at, boot=boot)
    if Operator.SUSTAINED in operators:
        value["held"] = held(item.all_criteria, facts, before, after, at=at, boot=boot)
    if Operator.SURVIVES in operators:
        value["boots"] = after["boots"] = remember_boot(before, boot, facts.get("live"))
    if item.needs_load:
        after["load"] = remember_load(Sample(item, value), before, at=at, boot=boot)
        value["load"] = shown_load(after["load"])
