"""A decoded report in the judge's words: facts by item, by the portal's clock, under the subjects on file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from checks.domain.facts import WHOLE_NODE, Fact, Problem, ProblemKind
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import NODE_HELD, Cadence, Scope
from checks.services.report_clock import ReportClock
from checks.services.report_v1 import FactV1, ReportV1

FULL_CADENCES: Final = frozenset({Cadence.TICK, Cadence.DAILY})
_SUBJECTS: Final = {Scope.GPU: re.compile(r"gpu\d{1,2}"), Scope.NIC: re.compile(r"nic\d{1,2}")}


Sent: TypeAlias = Mapping[str, Mapping[str, Sequence[FactV1]]]


@dataclass(frozen=True, slots=True)
class Content:
    """What a report says of items that are judged, and the names of what it says besides.

    *sent* are the facts as they came, by item and by the subject on file: most say what was known, and are compared
    before anything is made of them.
    """

    sent: Sent
    problems: Mapping[str, list[Problem]]
    items: tuple[str, ...]
    observed: tuple[str, ...]
    times: Mapping[float, datetime]

    def facts(self, item: str) -> list[Fact]:
        """The item's facts in the judge's words."""
        return [
            Fact(item, subject, fact.name, fact.value, fact.unit, self.times[fact.observed_at])
            for subject, facts in self.sent.get(item, _NOTHING).items()
            for fact in facts
        ]

    def newest(self, item: str, default: datetime) -> datetime:
        """When the item was measured last in this report; *default* when it brought no fact."""
        sent = self.sent.get(item, _NOTHING).values()
        return max((self.times[fact.observed_at] for facts in sent for fact in facts), default=default)


_NOTHING: Final[Mapping[str, Sequence[FactV1]]] = {}


def content_of(report: ReportV1, ruleset: Ruleset, clock: ReportClock, subjects: Mapping[str, str]) -> Content:
    """Sort the report's facts and problems by item.

    What the rules do not judge on a node (an unknown item, one that does not apply, a subject that cannot be) is kept
    in the stored report and named in ``observed``: an observation, not an error.
    """
    observed = dict.fromkeys(key for key in report.covered if key not in ruleset.items)
    sent = {
        item: {subject: facts for subject, facts in held.items() if _is_judged(item, subject, ruleset, observed)}
        for item, held in _by_item_and_subject(report.facts, subjects).items()
    }
    problems: dict[str, list[Problem]] = {}
    for met in report.problems:
        subject = subjects.get(met.subject, met.subject) if met.subject else met.subject
        problem = Problem(met.item, subject, ProblemKind(met.kind), met.detail)
        problems.setdefault(met.item, []).append(problem)
    spoken_of = dict.fromkeys((*report.covered, *(item for item, held in sent.items() if held), *problems))
    items = tuple(key for key in spoken_of if _is_of_a_node(key, ruleset))
    times = {seconds: clock.observed(seconds) for seconds in {fact.observed_at for fact in report.facts}}
    return Content(sent, problems, items, tuple(observed), times)


def _by_item_and_subject(facts: Iterable[FactV1], subjects: Mapping[str, str]) -> dict[str, dict[str, list[FactV1]]]:
    """One pass over the facts: a report has hundreds."""
    found: dict[str, dict[str, list[FactV1]]] = {}
    for fact in facts:
        held = found.get(fact.item)
        if held is None:
            found[fact.item] = held = {}
        subject = subjects.get(fact.subject, fact.subject) if subjects else fact.subject
        if subject in held:
            held[subject].append(fact)
        else:
            held[subject] = [fact]
    return found


def missing_items(report: ReportV1, ruleset: Ruleset) -> tuple[str, ...] | None:
    """Items that a full report of this cadence covers and this one does not; None when its cadence cannot be full."""
    if report.cadence not in FULL_CADENCES:
        return None
    covered = set(report.covered)
    return tuple(key for key in ruleset.due(Cadence(report.cadence)) if key not in covered)


def compact_facts(report: ReportV1, ruleset: Ruleset) -> dict[str, object]:
    """All facts as the stored report keeps them: a value alone where its unit is the catalogue's, else with its unit.

    ``ages`` are seconds from an item's oldest fact to the writing of the report.
    """
    facts: dict[str, dict[str, dict[str, object]]] = {}
    oldest: dict[str, float] = {}
    for fact in report.facts:
        held = facts.get(fact.item)
        if held is None:
            facts[fact.item] = held = {}
            oldest[fact.item] = fact.observed_at
            item = ruleset.items.get(fact.item)
            units: Mapping[str, str] = item.facts if item is not None else {}
        elif fact.observed_at < oldest[fact.item]:
            oldest[fact.item] = fact.observed_at
        usual = units.get(fact.name) == fact.unit
        held.setdefault(fact.subject, {})[fact.name] = fact.value if usual else [fact.value, fact.unit]
    boottime = report.clock.boottime
    return {"facts": facts, "ages": {item: round(boottime - seconds, 3) for item, seconds in oldest.items()}}


def _is_of_a_node(key: str, ruleset: Ruleset) -> bool:
    item = ruleset.items.get(key)
    return item is not None and item.scope in NODE_HELD and ruleset.applies(key)


def _is_judged(item: str, subject: str, ruleset: Ruleset, observed: dict[str, None]) -> bool:
    """Whether facts of that subject are judged; others are named in *observed*, unless the profile excuses them."""
    if item not in ruleset.items:
        observed[item] = None
        return False
    if not _is_of_a_node(item, ruleset):
        return False
    pattern = _SUBJECTS.get(ruleset.items[item].scope)
    if subject == WHOLE_NODE or (pattern is not None and pattern.fullmatch(subject)):
        return True
    observed[f"{item}:{subject}"] = None
    return False
