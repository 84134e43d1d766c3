"""What a simulation saw: reports lost or doubled, wrong answers of the gate, and how long calls took."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from checks.management.simulation.agents import Delivery


@dataclass(slots=True)
class Figures:
    """Filled while the simulation runs.

    ``forgotten`` are reports that the portal accepted and later took as new; ``wrong`` says what the gate got wrong.
    """

    deliveries: list[Delivery] = field(default_factory=list)
    doubled: int = 0
    forgotten: int = 0
    gate_s: list[float] = field(default_factory=list)
    gate_silent: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """Reports that were never accepted, for whatever reason, or were accepted and forgotten."""
        return sum(not one.accepted for one in self.deliveries) + self.forgotten

    @property
    def is_well(self) -> bool:
        """Nothing lost, nothing doubled, no wrong answer."""
        return not (self.lost or self.doubled or self.wrong)

    def lines(self) -> Iterator[str]:
        """For a person to read."""
        yield f"{len(self.deliveries)} reports: {self.lost} lost, {self.doubled} doubled"
        for refusal, count in Counter(one.refused for one in self.deliveries if one.refused).items():
            yield f"refused: {count} with {refusal}"
        yield f"until accepted: {spread([one.seconds for one in self.deliveries if one.accepted])}"
        yield f"{len(self.gate_s)} gate questions: {len(self.wrong)} wrong answers, {self.gate_silent} not answered"
        yield f"until answered: {spread(self.gate_s)}"
        yield from self.wrong[:5]


def spread(seconds: Sequence[float]) -> str:
    """Median, 95th and 99th percentile and the longest, in milliseconds."""
    if not seconds:
        return "nothing to measure"
    ranked = sorted(seconds)
    marks = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "longest": 1.0}
    places = {
        name: ranked[max(0, min(len(ranked) - 1, round(share * len(ranked)) - 1))] for name, share in marks.items()
    }
    return ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in places.items())
