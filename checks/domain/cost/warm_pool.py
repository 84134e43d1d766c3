"""Spare nodes kept running: what they cost while idle, against the waiting for a node that they save."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from checks.domain.cost.estimating import estimate
from checks.domain.cost.money import Estimate, Part
from checks.domain.cost.prices import Book
from checks.domain.cost.scenario import Scenario


@dataclass(frozen=True, slots=True)
class WarmPool:
    """The same run with spare nodes and without any."""

    with_pool: Estimate
    without: Estimate

    @property
    def cost(self) -> Decimal:
        """US dollars for the spare nodes, at the expected rate."""
        return self.with_pool.part(Part.WARM_POOL).expected

    @property
    def saved(self) -> Decimal:
        """US dollars of all else that the run then costs less, at the expected rate."""
        return self.without.total.expected - (self.with_pool.total.expected - self.cost)

    @property
    def worth(self) -> bool:
        """Whether the pool saves more than it costs."""
        return self.saved > self.cost


def warm_pool(scenario: Scenario, book: Book, nodes: int) -> WarmPool:
    """The scenario with *nodes* spare nodes against none.

    Raises:
        ImpossibleInput, PriceMissing: as ``estimate``.
    """
    return WarmPool(
        estimate(scenario.with_changes(warm_nodes=nodes), book), estimate(scenario.with_changes(warm_nodes=0), book)
    )
