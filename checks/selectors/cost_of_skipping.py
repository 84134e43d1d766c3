"""What skipping an item has cost: from published runs, by the price of the cluster's own GPU hour."""

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from django.conf import settings

from checks.domain.cost.interruption import interruption_cost
from checks.domain.cost.job import Job
from checks.domain.cost.money import Range
from checks.domain.cost.price_files import read_studies
from checks.domain.cost.scenario import Scenario
from checks.domain.cost.studies import Skipped, Study
from checks.domain.cost.waiting import GpuPrice
from checks.models import Cluster, Node
from checks.selectors.hardware_counts import gpus_per_node

#: Days over which a loss is told: long enough to be more than nothing, short enough to be imagined.
TOLD_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class SkippingCost:
    """What others lost, and what the same would cost a job on all nodes of the cluster in so many days.

    ``usd_each`` is one interruption with the usual restart and half an interval of work; None: nobody said what a GPU
    hour costs.
    """

    published: Skipped
    nodes: int
    scenario: Scenario
    times: float
    usd_each: Decimal | None

    @property
    def usd(self) -> Decimal | None:
        """All of them together."""
        return None if self.usd_each is None else self.usd_each * Decimal(str(self.times))


@lru_cache(maxsize=1)
def published_studies() -> tuple[Study, ...]:
    """The studies that are shipped; read once a process."""
    return read_studies(settings.BASE_DIR / "checks" / "rates" / "causes.toml")


def cost_of_skipping(cluster: Cluster, item: str, *, price: GpuPrice | None) -> SkippingCost | None:
    """What skipping *item* has cost; None: nobody published a loss that it could have found. One statement.

    Raises:
        NoCatalogue, UnknownProfile: nobody can tell how many GPUs a node has.
    """
    found = next((told for study in published_studies() if (told := study.of_item(item))), None)
    nodes = Node.objects.filter(cluster=cluster, retired_at=None).count() if found else 0
    per_node = gpus_per_node(cluster)
    if found is None or not nodes or not per_node:
        return None
    scenario = Scenario(
        gpus=nodes * per_node, gpus_per_node=per_node, days=TOLD_DAYS, gpu_price=price.usd if price else None
    )
    times = found.expected(nodes=nodes, days=TOLD_DAYS)
    return SkippingCost(found, nodes, scenario, times, _one(scenario))


def _one(scenario: Scenario) -> Decimal | None:
    """US dollars for one interruption of the job, at the expected rate."""
    if scenario.gpu_price is None:
        return None
    return Range.total(interruption_cost(Job(scenario), scenario.gpu_price).values()).expected
