"""Sums of money as pages show them: in the reader's currency, by a dated rate, no finer than they are known."""

from dataclasses import dataclass
from decimal import Decimal

from checks.domain.cost.currency import Rate, convert
from checks.domain.cost.money import cents

USD = "USD"
# Places on a logarithmic scale of 228 units: 0 at 4, one at 24, ten million at 224.
ZERO, ONE, DECADES = 4.0, 24.0, 7


@dataclass(frozen=True, slots=True)
class Purse:
    """The currency that a page is read in; None: US dollars, as prices are kept."""

    rate: Rate | None = None

    @property
    def code(self) -> str:
        """Its name."""
        return self.rate.currency if self.rate else USD

    def of(self, amount: Decimal) -> Decimal:
        """US dollars in this currency, to the cent."""
        return cents(convert(amount, self.rate) if self.rate else amount)

    def whole(self, amount: Decimal) -> str:
        """Without cents, thousands apart; what is more than nothing is never told as nothing."""
        held = self.of(amount)
        if 0 < held < 1:
            return "< 1"
        return f"{held:,.0f}"

    def exact(self, amount: Decimal) -> str:
        """To the cent, thousands apart."""
        return f"{self.of(amount):,.2f}"


@dataclass(frozen=True, slots=True)
class Span:
    """Where a range lies on the scale."""

    start: float
    end: float
    middle: float

    @classmethod
    def over(cls, low: Decimal, expected: Decimal, high: Decimal) -> "Span":
        """The places of three sums; a range too short to see is drawn one unit long."""
        start, middle, end = place(low), place(expected), place(high)
        return cls(start, max(end, start + 1), middle)


def place(amount: Decimal) -> float:
    """Where *amount* stands on the logarithmic scale."""
    if amount <= 0:
        return ZERO
    if amount < 1:
        return (ZERO + ONE) / 2
    return round(min(ONE + 200 * float(amount.log10()) / DECADES, 228.0), 1)
