"""What bytes cost on their way. An upload into object storage is free; leaving it, or a detour, is not."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from checks.domain.cost.errors import PriceMissing
from checks.domain.cost.money import Input, LineItem, Part, Range
from checks.domain.cost.prices import Book, Price, PriceKind
from checks.domain.cost.scenario import Route
from checks.domain.cost.tiers import tiered_cost

_DESTINATIONS: Final = {
    Route.SAME_REGION: "same_region",
    Route.INTO: "in",
    Route.ZONE: "zone",
    Route.REGION: "region",
    Route.INTERNET: "internet",
}
_PER_GB: Final = {Route.NAT: PriceKind.NAT_GB, Route.ACCELERATED: PriceKind.ACCEL_GB}


def egress_cost(
    gb: Decimal,
    route: Route,
    book: Book,
    *,
    region: str,
    destination: str = "",
    used: Decimal = Decimal(0),
    months: int = 1,
) -> LineItem:
    """The line for *gb* GB that leave *region* by *route*, spread evenly over so many billed months.

    *destination* is a region's name where the route leads to one with a price of its own. *used* GB are moved in each
    of the months besides.

    Raises:
        ImpossibleInput: less than 0 GB.
        PriceMissing: the book has no row for that way.
    """
    rows = _rows(route, book, region, destination)
    amount = tiered_cost(gb / months, rows, used) * months
    inputs = [Input("GB", f"{gb:f}", "GB"), Input("route", route.value), Input("used", f"{used:f}", "GB")]
    if months > 1:
        inputs.append(Input("months", str(months)))
    return LineItem(
        "egress", Part.EGRESS, Range.exactly(amount), _formula(months), tuple(inputs), _touched(rows, gb, used)
    )


def every_route(
    gb: Decimal, book: Book, *, region: str, destination: str = "", used: Decimal = Decimal(0)
) -> dict[Route, LineItem | None]:
    """The same bytes by every route; None where the book has no price for it."""
    found: dict[Route, LineItem | None] = {}
    for route in Route:
        try:
            found[route] = egress_cost(gb, route, book, region=region, destination=destination, used=used)
        except PriceMissing:
            found[route] = None
    return found


def _rows(route: Route, book: Book, region: str, destination: str) -> Sequence[Price]:
    if route in _PER_GB:
        return (book.one(_PER_GB[route], region=region),)
    if route is Route.REGION and destination:
        try:
            return book.tiers(region=region, destination=destination)
        except PriceMissing:
            pass  # most pairs of regions have no price of their own
    return book.tiers(region=region, destination=_DESTINATIONS[route])


def _touched(rows: Sequence[Price], gb: Decimal, used: Decimal) -> tuple[Price, ...]:
    """The rows that had a say: tiers wholly above or below what was moved are left out."""
    inside = [row for row in rows if row.from_gb <= used + gb and (row.to_gb is None or row.to_gb >= used)]
    return tuple(inside or rows)


def _formula(months: int) -> str:
    if months > 1:
        return "months × sum over tiers of (GB of [used, used + GB / months] in the tier × price)"
    return "sum over tiers of (GB of [used, used + GB] in the tier × price)"
