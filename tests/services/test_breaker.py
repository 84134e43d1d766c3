"""A check that fails on half the fleet at once is suspected before the fleet is."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from checks.models import BreakerTrip, Cluster, Flip, LedgerEntry, Node
from checks.services.breaker import ReasonMissing, end_breaker, watch_breakers
from tests.lab import MINUTE, bad_row, healthy_node, lab
from tests.people import person

pytestmark = pytest.mark.django_db
ITEM = "sysctl-somaxconn"
# Flips are stored by month, and the months of long ago or far ahead have no partition: these tests take place today.
NOON = timezone.now()


def flip(node: Node, at: datetime, *, raw_before: str = "pass", raw: str = "fail") -> None:
    Flip.objects.create(
        at=at, cluster=node.cluster, node=node, item=ITEM, raw_before=raw_before, raw=raw, settled_before="pass",
        settled="pass", item_version="v", cause="report",
    )  # fmt: skip


def fleet(size: int) -> tuple[Cluster, list[Node]]:
    """*size* nodes that all have a row of the item."""
    cluster = lab()
    nodes = [healthy_node(cluster, f"gpu{number:03d}") for number in range(size)]
    for node in nodes:
        bad_row(node, ITEM)
    return cluster, nodes


def test_half_the_nodes_and_at_least_four_open_a_breaker_that_the_ledger_names() -> None:
    cluster, nodes = fleet(8)
    for node in nodes[:4]:
        flip(node, NOON - 9 * MINUTE)

    assert watch_breakers(now=NOON) == 1

    trip = BreakerTrip.objects.get()
    assert (trip.cluster, trip.item, trip.nodes, trip.of_nodes, trip.ended_at) == (cluster, ITEM, 4, 8, None)
    assert LedgerEntry.objects.get(what="breaker_tripped").target == ITEM


def test_three_nodes_of_three_open_none() -> None:
    _, nodes = fleet(3)
    for node in nodes:
        flip(node, NOON - MINUTE)

    assert watch_breakers(now=NOON) == 0


def test_four_of_nine_nodes_open_none() -> None:
    _, nodes = fleet(9)
    for node in nodes[:4]:
        flip(node, NOON - MINUTE)

    assert watch_breakers(now=NOON) == 0


def test_flips_spread_over_more_than_ten_minutes_open_none() -> None:
    _, nodes = fleet(4)
    for node, minutes in zip(nodes, (11, 1, 1, 1), strict=True):
        flip(node, NOON - minutes * MINUTE)

    assert watch_breakers(now=NOON) == 0


def test_one_node_that_flaps_is_one_node() -> None:
    _, nodes = fleet(4)
    for minutes in (1, 2, 3, 4):
        flip(nodes[0], NOON - minutes * MINUTE)

    assert watch_breakers(now=NOON) == 0


def test_flips_that_were_failures_before_do_not_count() -> None:
    _, nodes = fleet(4)
    for node in nodes:
        Flip.objects.create(
            at=NOON - MINUTE, cluster=node.cluster, node=node, item=ITEM, raw_before="fail", raw="fail",
            settled_before="pass", settled="fail", item_version="v", cause="report",
        )  # fmt: skip

    assert watch_breakers(now=NOON) == 0


def test_watching_twice_opens_one_breaker() -> None:
    _, nodes = fleet(4)
    for node in nodes:
        flip(node, NOON - MINUTE)
    watch_breakers(now=NOON)

    assert watch_breakers(now=NOON + MINUTE) == 0
    assert BreakerTrip.objects.count() == 1


def test_it_ends_thirty_minutes_after_the_last_flip() -> None:
    _, nodes = fleet(5)
    for node in nodes[:4]:
        flip(node, NOON - MINUTE)
    watch_breakers(now=NOON)
    flip(nodes[4], NOON + 5 * MINUTE)
    watch_breakers(now=NOON + 6 * MINUTE)

    watch_breakers(now=NOON + 34 * MINUTE)
    assert BreakerTrip.objects.get().ended_at is None

    watch_breakers(now=NOON + 35 * MINUTE)
    assert BreakerTrip.objects.get().ended_at == NOON + 35 * MINUTE


def test_a_person_ends_it_with_a_reason_and_old_flips_do_not_open_it_again() -> None:
    _, nodes = fleet(4)
    for node in nodes:
        flip(node, NOON - MINUTE)
    watch_breakers(now=NOON)

    end_breaker(trip=BreakerTrip.objects.get(), by=person("ada"), reason="the image really lost it", now=NOON + MINUTE)

    assert watch_breakers(now=NOON + 2 * MINUTE) == 0
    assert LedgerEntry.objects.get(what="breaker_ended").reason == "the image really lost it"


def test_nobody_ends_it_without_a_reason() -> None:
    _, nodes = fleet(4)
    for node in nodes:
        flip(node, NOON - MINUTE)
    watch_breakers(now=NOON)

    with pytest.raises(ReasonMissing, match="Say why"):
        end_breaker(trip=BreakerTrip.objects.get(), by=person("ada"), reason=" ", now=NOON + timedelta(minutes=1))
