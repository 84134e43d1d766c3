"""Tiered prices: each GB costs what its own tier says, counted on from what the month has already seen."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from checks.domain.cost.errors import require_not_negative
from checks.domain.cost.prices import Price


def tiered_cost(gb: Decimal, tiers: Sequence[Price], used: Decimal = Decimal(0)) -> Decimal:
    """US dollars for *gb* more GB in a month in which *used* GB have already been moved.

    Raises:
        ImpossibleInput: less than 0 GB.
    """
    require_not_negative("gb", gb)
    require_not_negative("month_to_date_gb", used)
    return sum((overlap(tier, used, used + gb) * tier.amount for tier in tiers), Decimal(0))


def overlap(tier: Price, start: Decimal, end: Decimal) -> Decimal:
    """How many of the GB from *start* to *end* lie in the tier."""
    last = end if tier.to_gb is None else min(end, tier.to_gb)
    return max(last - max(start, tier.from_gb), Decimal(0))


def gap_in(tiers: Sequence[Price]) -> Decimal | None:
    """Where the tiers, lowest first, leave a gap, overlap or end; None: each GB from 0 on has one price."""
    edge: Decimal | None = Decimal(0)
    for tier in tiers:
        if edge is None or tier.from_gb != edge:
            return tier.from_gb if edge is None else edge
        edge = tier.to_gb
    return edge
