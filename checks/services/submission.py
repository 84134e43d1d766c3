"""A decoded report in the judge's words: facts by item, by the portal's clock, under the subjects on file."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from checks.domain.facts import WHOLE_NODE, Fact, Problem, ProblemKind
from checks.domain.profiles import Ruleset
from checks.domain.units import Scalar
from checks.domain.verdicts import Cadence, Scope
from checks.services.report_clock import ReportClock
from checks.services.report_v1 import FactV1, ReportV1

FULL_CADENCES: Final = frozenset({Cadence.TICK, Cadence.DAILY})
_NO_UNITS: Final[Mapping[str, str]] = {}
_SUBJECTS: Final = {scope: re.compile(rf"{scope}(?:0|[1-9][0-9]?)") for scope in (Scope.GPU, Scope.NIC)}


@dataclass(slots=True)
class ItemFacts:
    """The facts of one item as they came, and by subject in short: ``said[subject][name]`` is a value alone where it
    is of the catalogue's unit and kind, else ``[value, unit]``.

    *plain*: every fact came once, in the unit and of the kind that the catalogue states. *newest* and *oldest* are
    boot-clock seconds.
    """

    units: Mapping[str, str]
    facts: list[FactV1] = field(default_factory=list)
    said: dict[str, dict[str, Any]] = field(default_factory=dict)
    plain: bool = True
    newest: float = -math.inf
    oldest: float = math.inf


_NUMBERS: Final = frozenset({int, float})
_KINDS: Final = {"text": frozenset({str}), "bool": frozenset({bool})}
_MOST: Final = 1e300


@dataclass(frozen=True, slots=True)
class Content:
    """What a report says of items that are judged, and the names of what it says besides.

    *sent* are all facts by item; *said* those that are judged, in short, by item and by the subject on file: most
    repeat what was known, and are compared before anything is made of them.
    """

    sent: Mapping[str, ItemFacts]
    said: Mapping[str, Mapping[str, dict[str, Any]]]
    problems: Mapping[str, list[Problem]]
    items: tuple[str, ...]
    observed: tuple[str, ...]
    subjects: Mapping[str, str]
    clock: ReportClock

    def facts(self, item: str) -> list[Fact]:
        """The item's facts in the judge's words."""
        found, judged = [], self.said.get(item, {})
        for fact in self.sent[item].facts if item in self.sent else ():
            subject = self.subjects.get(fact.subject, fact.subject)
            if subject in judged:
                at = self.clock.observed(fact.observed_at)
                found.append(Fact(item, subject, fact.name, fact.value, fact.unit, at))
        return found

    def plain(self, item: str) -> Mapping[str, dict[str, Scalar]] | None:
        """What is judged of the item by subject, where it is exactly what the catalogue asks for and no problem."""
        sent = self.sent.get(item)
        return self.said[item] if sent is not None and sent.plain and item not in self.problems else None

    def speaks_of(self, item: str, subject: str) -> bool:
        """Whether there is a fact or a problem of that subject, or of the whole node in its place."""
        said = self.said.get(item, {})
        problems = self.problems.get(item, ())
        return subject in said or WHOLE_NODE in said or any(problem.concerns(subject) for problem in problems)

    def newest(self, item: str, default: datetime) -> datetime:
        """When the item was measured last in this report; *default* when it brought no fact."""
        sent = self.sent.get(item)
        return default if sent is None else self.clock.observed(sent.newest)

    def as_json(self) -> dict[str, object]:
        """All facts as the stored report keeps them; ``ages`` are seconds from an item's oldest fact to the writing."""
        boottime = self.clock.boottime
        return {
            "facts": {item: sent.said for item, sent in self.sent.items()},
            "ages": {item: round(boottime - sent.oldest, 3) for item, sent in self.sent.items()},
        }


def content_of(report: ReportV1, ruleset: Ruleset, clock: ReportClock, subjects: Mapping[str, str]) -> Content:
    """Sort the report's facts and problems by item.

    What the rules do not judge on a node (an unknown item, one that does not apply, a subject that cannot be) is kept
    in the stored report and named in ``observed``: an observation, not an error.
    """
    observed = dict.fromkeys(key for key in report.covered if key not in ruleset.items)
    sent = _by_item(report.facts, ruleset)
    said = {
        item: {
            subjects.get(subject, subject): facts
            for subject, facts in held.said.items()
            if _is_judged(item, subject, ruleset, observed)
        }
        for item, held in sent.items()
    }
    problems = _problems(report, subjects)
    spoken_of = dict.fromkeys((*report.covered, *(item for item, held in said.items() if held), *problems))
    items = tuple(key for key in spoken_of if key in ruleset.of_nodes)
    return Content(sent, said, problems, items, tuple(observed), subjects, clock)


def _by_item(facts: Iterable[FactV1], ruleset: Ruleset) -> dict[str, ItemFacts]:
    """Take in every fact. Written out in one loop, because a report has hundreds."""
    found: dict[str, ItemFacts] = {}
    key, held, units, told = "", None, _NO_UNITS, {}
    for fact in facts:
        if held is None or fact.item != key:
            key = fact.item
            held = found.get(key)
            if held is None:
                item = ruleset.items.get(key)
                found[key] = held = ItemFacts(item.facts if item is not None else _NO_UNITS)
            units, told = held.units, held.said
        held.facts.append(fact)
        said = told.get(fact.subject)
        if said is None:
            told[fact.subject] = said = {}
        name, value, unit, at = fact.name, fact.value, fact.unit, fact.observed_at
        kind = type(value)
        usual = units.get(name) == unit and (kind is bool) == (unit == "bool")
        if not usual or name in said or kind not in _KINDS.get(unit, _NUMBERS):
            held.plain = False
        elif kind in _NUMBERS and not -_MOST < value < _MOST:  # type: ignore[operator]
            held.plain = False  # monstrous numbers are looked at later, as "unlimited" is
        said[name] = value if usual else [value, unit]
        if at > held.newest:
            held.newest = at
        if at < held.oldest:
            held.oldest = at
    return found


def _problems(report: ReportV1, subjects: Mapping[str, str]) -> dict[str, list[Problem]]:
    problems: dict[str, list[Problem]] = {}
    for met in report.problems:
        subject = subjects.get(met.subject, met.subject) if met.subject else met.subject
        problem = Problem(met.item, subject, ProblemKind(met.kind), met.detail)
        problems.setdefault(met.item, []).append(problem)
    return problems


def missing_items(report: ReportV1, ruleset: Ruleset) -> tuple[str, ...] | None:
    """Items that a full report of this cadence covers and this one does not; None when its cadence cannot be full."""
    if report.cadence not in FULL_CADENCES:
        return None
    covered = set(report.covered)
    return tuple(key for key in ruleset.due(Cadence(report.cadence)) if key not in covered)


def _is_judged(item: str, subject: str, ruleset: Ruleset, observed: dict[str, None]) -> bool:
    """Whether facts of that subject are judged; others are named in *observed*, unless the profile excuses them."""
    if item not in ruleset.items:
        observed[item] = None
        return False
    if item not in ruleset.of_nodes:
        return False
    if subject in ruleset.subjects(item):
        return True
    pattern = _SUBJECTS.get(ruleset.items[item].scope)
    if subject == WHOLE_NODE or (pattern is not None and pattern.fullmatch(subject)):
        return True
    observed[f"{item}:{subject}"] = None
    return False
