"""Measuring again: who may be asked for what, handed out how often, and when it is over."""

from datetime import timedelta

import pytest

from checks.models import RecheckRequest
from checks.services.rechecks import (
    EXPIRES_AFTER,
    NothingToRecheck,
    ask_before_evidence_ends,
    open_requests,
    pick_up,
    request_recheck,
)
from tests.lab import HOUR, MINUTE, NOON, healthy_node, lab

pytestmark = pytest.mark.django_db


def test_a_request_is_handed_out_until_it_is_measured_and_marked_the_first_time() -> None:
    node = healthy_node(lab())
    request_recheck(node=node, items=["gpu-ecc", "sysctl-somaxconn"], requested_by=None, now=NOON)

    first, again = pick_up(node=node, now=NOON + MINUTE), pick_up(node=node, now=NOON + 2 * MINUTE)

    assert [request.items for request in first] == [["gpu-ecc", "sysctl-somaxconn"]]
    assert [request.pk for request in again] == [request.pk for request in first]
    assert RecheckRequest.objects.get().picked_up_at == NOON + MINUTE


def test_a_measured_request_is_handed_out_no_more() -> None:
    node = healthy_node(lab())
    request_recheck(node=node, items=["gpu-ecc"], requested_by=None, now=NOON)
    RecheckRequest.objects.update(done_at=NOON + MINUTE)

    assert pick_up(node=node, now=NOON + 2 * MINUTE) == []


def test_asking_twice_is_one_request() -> None:
    node = healthy_node(lab())

    first = request_recheck(node=node, items=["gpu-ecc"], requested_by=None, now=NOON)
    second = request_recheck(node=node, items=["gpu-ecc", "gpu-ecc"], requested_by=None, now=NOON + MINUTE)

    assert first.pk == second.pk


def test_a_node_that_never_asks_is_given_up_after_an_hour() -> None:
    node = healthy_node(lab())
    request_recheck(node=node, items=["gpu-ecc"], requested_by=None, now=NOON)

    assert open_requests(now=NOON + EXPIRES_AFTER - timedelta(seconds=1)).exists()
    assert pick_up(node=node, now=NOON + EXPIRES_AFTER) == []


def test_another_nodes_request_is_not_handed_out() -> None:
    cluster = lab()
    asked, other = healthy_node(cluster, "gpu001"), healthy_node(cluster, "gpu002")
    request_recheck(node=asked, items=["gpu-ecc"], requested_by=None, now=NOON)

    assert pick_up(node=other, now=NOON) == []


@pytest.mark.parametrize("item", ["no-such-item", "gpu-burn"])
def test_what_the_agents_rounds_do_not_measure_is_refused_by_name(item: str) -> None:
    node = healthy_node(lab())

    with pytest.raises(NothingToRecheck, match=f"gpu001 does not measure {item} in its rounds"):
        request_recheck(node=node, items=["gpu-ecc", item], requested_by=None, now=NOON)


def test_asking_for_nothing_is_refused() -> None:
    with pytest.raises(NothingToRecheck, match="at least one item"):
        request_recheck(node=healthy_node(lab()), items=[], requested_by=None, now=NOON)


def test_daily_evidence_that_ends_soon_is_asked_for_again_once() -> None:
    healthy_node(lab(), daily_until=NOON + HOUR)

    assert ask_before_evidence_ends(now=NOON) == 1
    assert ask_before_evidence_ends(now=NOON + MINUTE) == 0
    assert "gpu-firmware" in RecheckRequest.objects.get().items


def test_a_node_that_is_silent_or_has_time_left_is_not_asked() -> None:
    cluster = lab()
    healthy_node(cluster, "gpu001", daily_until=NOON + HOUR, tick_until=NOON - MINUTE)
    healthy_node(cluster, "gpu002", daily_until=NOON + 3 * HOUR)

    assert ask_before_evidence_ends(now=NOON) == 0
