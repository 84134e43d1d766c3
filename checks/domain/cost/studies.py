"""Why published runs stopped, cause by cause: what skipping an item has cost others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class PublishedCause:
    """One cause of interruptions: in both languages, how many there were, and the items that look for it."""

    key: str
    en: str
    zh: str
    times: int
    items: frozenset[str]

    @property
    def listed(self) -> str:
        """The items in order, as one text."""
        return ", ".join(sorted(self.items))

    def told(self, language: str) -> str:
        """The cause in *language*; English where it is not Chinese."""
        return self.zh if language.startswith("zh") else self.en


@dataclass(frozen=True, slots=True)
class Study:
    """One run that was watched: unexpected interruptions in so many days on so many nodes of 8 GPUs."""

    name: str
    interruptions: int
    days: int
    nodes: int
    as_of: date
    source: str
    verified: bool
    causes: tuple[PublishedCause, ...]

    def of_item(self, item: str) -> Skipped | None:
        """What the study tells about an item; None: it names no cause that the item looks for."""
        causes = tuple(cause for cause in self.causes if item in cause.items)
        return Skipped(self, causes) if causes else None


@dataclass(frozen=True, slots=True)
class Skipped:
    """The interruptions of a study whose causes one item looks for."""

    study: Study
    causes: tuple[PublishedCause, ...]

    @property
    def times(self) -> int:
        """How many there were."""
        return sum(cause.times for cause in self.causes)

    @property
    def per_1000_node_days(self) -> Decimal:
        """The same of one node in 1000 days."""
        return Decimal(self.times * 1000) / (self.study.days * self.study.nodes)

    def expected(self, *, nodes: int, days: float) -> float:
        """Interruptions of such causes that a job on *nodes* nodes has in so many days, if it fares as the study's."""
        return float(self.per_1000_node_days) * nodes * days / 1000
