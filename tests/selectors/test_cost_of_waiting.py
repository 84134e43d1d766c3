"""What it costs an hour that GPUs may not start."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checks.models import Cluster
from checks.selectors.cost_of_waiting import cost_of_waiting, cost_of_waiting_run, gpu_prices
from checks.services.costs import price_cluster
from tests.lab import NOON, healthy_node, lab
from tests.runs import a_run

pytestmark = pytest.mark.django_db


def priced(cluster: Cluster, *amounts: str) -> Cluster:
    for amount in amounts:
        price_cluster(cluster=cluster, amount=Decimal(amount), reason="contract", by=None, now=NOON)
    return cluster


def test_three_nodes_of_eight_gpus_cost_24_times_the_newest_price() -> None:
    cluster = priced(lab(), "2.00", "6.88")
    found = cost_of_waiting(cluster, nodes=3, price=gpu_prices([cluster.pk])[cluster.pk])

    assert found is not None
    assert (found.gpus, found.usd_per_hour) == (24, Decimal("165.12"))


def test_without_a_price_nobody_knows() -> None:
    cluster = lab()

    assert cost_of_waiting(cluster, nodes=3, price=gpu_prices([cluster.pk]).get(cluster.pk)) is None


def test_a_run_that_may_not_start_lets_all_its_nodes_wait() -> None:
    cluster = priced(lab(), "2.00")
    for name in ("gpu001", "gpu002", "gpu003"):
        healthy_node(cluster, name)
    found = cost_of_waiting_run(
        a_run(cluster, "gpu[001-003]", nodes_needed=2), price=gpu_prices([cluster.pk])[cluster.pk]
    )

    assert found is not None
    assert (found.gpus, found.usd_per_hour) == (16, 32)


def test_one_statement_reads_the_prices_of_a_whole_board() -> None:
    one, other, bare = priced(lab("one"), "2.00"), priced(lab("other"), "3", "4"), lab("bare")
    with CaptureQueriesContext(connection) as asked:
        found = gpu_prices([one.pk, other.pk, bare.pk])

    assert {cluster: price.usd for cluster, price in found.items()} == {one.pk: 2, other.pk: 4}
    assert (found[one.pk].source, found[one.pk].since) == ("contract", NOON)
    assert len(asked) == 1
