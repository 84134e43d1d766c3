"""What skipping an item has cost others, at the price of one's own GPU hour."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from checks.domain.cost.waiting import GpuPrice
from checks.models import Cluster
from checks.selectors.cost_of_skipping import cost_of_skipping
from tests.lab import healthy_node, lab

pytestmark = pytest.mark.django_db
PRICE = GpuPrice(Decimal("6.88"), "contract 17", datetime(2026, 11, 30, tzinfo=UTC))


@pytest.fixture
def two_nodes() -> Cluster:
    cluster = lab()
    for name in ("gpu001", "gpu002"):
        healthy_node(cluster, name)
    return cluster


def test_a_month_on_two_nodes_at_a_published_rate(two_nodes: Cluster) -> None:
    """0.8228 x 2 x 30 / 1000 = 0.0494 interruptions.

    Each of 16 GPUs at 6.88: 8 wait 600 s for the other node = 9.173; loading 182 GB at 10 GB/s 18.2 s = 0.5565,
    communicators 5 s = 0.1529, half of 30 minutes 900 s = 27.52, all on 16 GPUs: 37.40 USD.
    """
    found = cost_of_skipping(two_nodes, "gpu-ecc", price=PRICE)

    assert found is not None
    assert (found.nodes, found.scenario.gpus, found.published.times) == (2, 16, 91)
    assert found.times == pytest.approx(0.0494, abs=1e-4)
    assert found.usd_each == pytest.approx(Decimal("37.40"), abs=Decimal("0.01"))
    assert found.usd == pytest.approx(Decimal("1.85"), abs=Decimal("0.01"))


def test_without_a_price_there_are_interruptions_and_no_dollars(two_nodes: Cluster) -> None:
    found = cost_of_skipping(two_nodes, "gpu-ecc", price=None)

    assert found is not None
    assert (found.usd_each, found.usd) == (None, None)


def test_nobody_published_what_swapping_costs(two_nodes: Cluster) -> None:
    assert cost_of_skipping(two_nodes, "sysctl-swappiness", price=PRICE) is None


def test_a_cluster_without_nodes_loses_nothing() -> None:
    assert cost_of_skipping(lab(), "gpu-ecc", price=PRICE) is None
