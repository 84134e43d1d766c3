"""Reports of a healthy fleet, as the benchmarks send them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

import msgspec

from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence
from checks.management.simulation.sound import NO_TROUBLE, SoundNode, Troubles, Work, Writing

__all__ = ["PROFILES", "FleetNode", "Work", "body_of", "results_in"]

#: The profiles that the benchmarks send reports of.
PROFILES = ("2xh200-virtual", "8xh200")
#: One report in so many says that the slipping item fails, so that flips are written too (4 % of reports, two each).
SLIPS_EVERY = 25


@dataclass(frozen=True, slots=True)
class FleetNode:
    """One node of the fleet. *slipping* is the item that now and then fails."""

    rules: Ruleset
    hostname: str
    boot_id: str
    slipping: str = "sysctl-somaxconn"

    def reports(self, work: Work, *, first: int) -> Iterator[dict[str, object]]:
        """Full tick reports without end, numbered from *first*."""
        return (self.report(work, number) for number in count(first))

    def report(self, work: Work, number: int, *, cadence: Cadence = Cadence.TICK) -> dict[str, object]:
        """One full report, written now; its boot clock is half a second later than that of the number before.

        Raises:
            NoFactsKnown: items are due that nobody wrote down passing facts for.
        """
        node = SoundNode(self.rules, self.hostname, self.boot_id, work, program="bench")
        due, slip = self.rules.due(cadence), Troubles(changed={self.slipping: {"live": 128}})
        writing = Writing(cadence, due, number, boottime=86_400.0 + number * 0.5, wall=datetime.now(UTC))
        return node.report(writing, slip if number % SLIPS_EVERY == SLIPS_EVERY - 1 else NO_TROUBLE)


def results_in(rules: Ruleset) -> int:
    """How many verdicts one such report leads to."""
    return sum(len(rules.subjects(key)) for key in rules.due(Cadence.TICK))


def body_of(report: dict[str, object]) -> bytes:
    """The report as one line of JSON."""
    return msgspec.json.encode(report)
