"""A decoded report in the judge's words: facts by item, by the portal's clock, under the subjects on file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from checks.domain.facts import WHOLE_NODE, Fact, Problem, ProblemKind
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import NODE_HELD, Cadence, Scope
from checks.services.report_clock import ReportClock
from checks.services.report_v1 import ReportV1

FULL_CADENCES: Final = frozenset({Cadence.TICK, Cadence.DAILY})
_SUBJECTS: Final = {Scope.GPU: re.compile(r"gpu\d{1,2}"), Scope.NIC: re.compile(r"nic\d{1,2}")}


@dataclass(frozen=True, slots=True)
class Content:
    """What a report says of items that are judged, and the names of what it says besides."""

    facts: Mapping[str, list[Fact]]
    problems: Mapping[str, list[Problem]]
    items: tuple[str, ...]
    observed: tuple[str, ...]


def content_of(report: ReportV1, ruleset: Ruleset, clock: ReportClock, subjects: Mapping[str, str]) -> Content:
    """Sort the report's facts and problems by item.

    What the rules do not judge on a node (an unknown item, one that does not apply, a subject that cannot be) is kept in
    the stored report and named in ``observed``: an observation, not an error.
    """
    judged = {key: ruleset.items[key].scope for key in ruleset.node_items() if ruleset.applies(key)}
    observed = dict.fromkeys(key for key in report.covered if key not in ruleset.items)
    facts: dict[str, list[Fact]] = {}
    times = {fact.observed_at: clock.observed(fact.observed_at) for fact in report.facts}
    for sent in report.facts:
        subject = subjects.get(sent.subject, sent.subject)
        if sent.item not in judged or not _can_be(judged[sent.item], subject):
            _note(observed, sent.item, sent.subject, ruleset)
            continue
        fact = Fact(sent.item, subject, sent.name, sent.value, sent.unit, times[sent.observed_at])
        facts.setdefault(sent.item, []).append(fact)
    problems: dict[str, list[Problem]] = {}
    for met in report.problems:
        subject_of = subjects.get(met.subject, met.subject) if met.subject else met.subject
        problem = Problem(met.item, subject_of, ProblemKind(met.kind), met.detail)
        problems.setdefault(met.item, []).append(problem)
    items = dict.fromkeys((*report.covered, *facts, *problems))
    return Content(facts, problems, tuple(key for key in items if key in judged), tuple(observed))


def missing_items(report: ReportV1, ruleset: Ruleset) -> tuple[str, ...] | None:
    """Items that a full report of this cadence covers and this one does not; None when its cadence cannot be full."""
    if report.cadence not in FULL_CADENCES:
        return None
    covered = set(report.covered)
    return tuple(key for key in ruleset.due(Cadence(report.cadence)) if key not in covered)


def fact_times(report: ReportV1, items: Iterable[str]) -> Iterable[float]:
    """Boot-clock times of the facts of *items*."""
    wanted = frozenset(items)
    return (fact.observed_at for fact in report.facts if fact.item in wanted)


def _can_be(scope: Scope, subject: str) -> bool:
    """Whether an item of *scope* can have that subject; the node itself may speak for all of its parts."""
    if subject == WHOLE_NODE or scope not in NODE_HELD:
        return True
    pattern = _SUBJECTS.get(scope)
    return pattern is not None and pattern.fullmatch(subject) is not None


def _note(observed: dict[str, None], item: str, subject: str, ruleset: Ruleset) -> None:
    if item not in ruleset.items or (subject and ruleset.applies(item)):
        observed[f"{item}:{subject}" if item in ruleset.items else item] = None
