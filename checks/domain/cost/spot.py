"""Whether hiring spot nodes pays, once what they interrupt is paid too."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from checks.domain.cost.estimating import estimate, gpu_hour
from checks.domain.cost.job import Job
from checks.domain.cost.money import Estimate
from checks.domain.cost.prices import Book
from checks.domain.cost.scenario import Scenario

_EXPECTED = 1


@dataclass(frozen=True, slots=True)
class SpotVerdict:
    """The same run on on-demand and on spot nodes. It pays when the price falls more than the time that trains."""

    on_demand: Estimate
    spot: Estimate
    price_ratio: Decimal
    ettr_on_demand: float
    ettr_spot: float

    @property
    def ettr_ratio(self) -> float:
        """What is left of the training time."""
        return self.ettr_spot / self.ettr_on_demand

    @property
    def worth(self) -> bool:
        """Whether p_spot / p_on-demand < ETTR_spot / ETTR_on-demand. Whether a deadline holds is not asked here."""
        return self.price_ratio < Decimal(str(self.ettr_ratio))


def compare_spot(scenario: Scenario, book: Book) -> SpotVerdict:
    """The scenario wholly on spot nodes against wholly on on-demand ones.

    Raises:
        ImpossibleInput: spot is dearer, or the job on spot never gets on.
        PriceMissing: one of the two has no price.
    """
    own, spot = scenario.with_changes(spot_share=0.0), scenario.with_changes(spot_share=1.0)
    return SpotVerdict(
        on_demand=estimate(own, book),
        spot=estimate(spot, book),
        price_ratio=gpu_hour(spot, book) / gpu_hour(own, book),
        ettr_on_demand=Job(own).ettr[_EXPECTED],
        ettr_spot=Job(spot).ettr[_EXPECTED],
    )
