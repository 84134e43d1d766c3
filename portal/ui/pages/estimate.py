"""A frozen estimate as its page and its run's page show it: lines, parts, and a bill against it, cause by cause."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from checks.domain.cost.actual import Compared
from checks.domain.cost.money import Estimate as Amounts
from checks.domain.cost.money import Range
from checks.models import ActualCost, Estimate, Run
from checks.selectors.costs import bill_of, comparison_of, estimate_in, estimates_of
from portal.ui.cost_words import CAUSES, LEVELS, PARTS
from portal.ui.pages.costs import LineShown, lines_of


@dataclass(frozen=True, slots=True)
class Against:
    """One cause of a bill against its estimate, or the whole of it; *verdict* gives its shape, *says* its word."""

    title: str
    estimated: Range
    billed: Decimal
    verdict: str
    says: str


@dataclass(frozen=True, slots=True)
class EstimateShown:
    """One frozen estimate; ``against`` ends with the whole and is empty where no bill was read in."""

    row: Estimate
    amounts: Amounts
    bill: ActualCost | None
    against: tuple[Against, ...]

    @property
    def total(self) -> Range:
        """Everything."""
        return self.amounts.total

    @property
    def parts(self) -> tuple[tuple[str, Range], ...]:
        """The sum of each part that has a line."""
        return tuple((str(PARTS[part.value]), amount) for part, amount in self.amounts.parts.items())

    @property
    def lines(self) -> tuple[LineShown, ...]:
        """Every line, with what it was made of."""
        return tuple(lines_of(self.amounts))

    @property
    def unpriced(self) -> str:
        """Parts that the price book had no row for; the total lacks them."""
        return ", ".join(str(PARTS[part]).lower() for part in self.amounts.unpriced)

    @property
    def whole(self) -> Against | None:
        """The bill's sum against the estimate's."""
        return self.against[-1] if self.against else None


def estimate_shown(row: Estimate) -> EstimateShown:
    """Collect what a page tells of it."""
    found = comparison_of(row)
    compared: Iterable[Compared] = (*found.causes, found.whole) if found else ()
    return EstimateShown(row, estimate_in(row), bill_of(row), tuple(map(_against, compared)))


def latest_estimate(run: Run) -> EstimateShown | None:
    """The run's newest estimate. Two statements."""
    row = next(iter(estimates_of(run)), None)
    return None if row is None else estimate_shown(row)


def _against(one: Compared) -> Against:
    title = str(CAUSES[one.cause.value]) if one.cause else _("Together")
    return Against(title, one.estimated, one.billed, LEVELS[one.level.value], _over(one))


def _over(one: Compared) -> str:
    over = one.over_percent
    if over is None:
        return _("not expected") if one.billed > 0 else _("as expected")
    if abs(over) < 1:
        return _("as expected")
    said = _("%(n)s %% over") if over > 0 else _("%(n)s %% under")
    return said % {"n": f"{abs(over):,.0f}"}
