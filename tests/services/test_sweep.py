"""The sweep writes history of missing evidence; run twice, or late, it writes the same."""

from datetime import UTC, datetime, timedelta

import pytest

from checks.models import Cluster, Gap, Heartbeat, Node, NodeReadiness
from checks.services.sweep import sweep_gaps

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

pytestmark = pytest.mark.django_db


def node(hostname: str = "gpu001", *, tick_until: datetime | None, daily_until: datetime = NOON + 60 * MINUTE) -> Node:
    """A node enrolled a day ago whose tick evidence is good until *tick_until*."""
    cluster, _ = Cluster.objects.get_or_create(slug="lab", defaults={"profile": "8xh200"})
    made = Node.objects.create(cluster=cluster, hostname=hostname, enrolled_at=NOON - timedelta(days=1))
    tick_at = tick_until and tick_until - 15 * MINUTE
    daily = {"daily_at": NOON - 60 * MINUTE, "daily_until": daily_until}
    NodeReadiness.objects.create(node=made, cluster=cluster, tick_at=tick_at, tick_until=tick_until, **daily)
    return made


def gaps() -> list[tuple[str, datetime, datetime | None]]:
    return list(Gap.objects.order_by("started_at").values_list("cadence", "started_at", "ended_at"))


def test_a_node_gone_quiet_has_a_gap_from_the_end_of_its_evidence() -> None:
    node(tick_until=NOON - 3 * MINUTE)

    assert sweep_gaps(now=NOON) == 1
    assert gaps() == [("tick", NOON - 3 * MINUTE, None)]


def test_sweeping_twice_opens_one_gap() -> None:
    node(tick_until=NOON - 3 * MINUTE)
    sweep_gaps(now=NOON)

    assert sweep_gaps(now=NOON + MINUTE) == 0
    assert gaps() == [("tick", NOON - 3 * MINUTE, None)]


def test_fresh_evidence_has_no_gap() -> None:
    node(tick_until=NOON + MINUTE)

    assert sweep_gaps(now=NOON) == 0


def test_a_node_that_never_reported_has_a_gap_since_it_enrolled() -> None:
    node(tick_until=None)

    sweep_gaps(now=NOON)

    assert gaps() == [("tick", NOON - timedelta(days=1), None)]


def test_an_open_gap_of_a_node_that_reports_again_ends_with_that_report() -> None:
    silent = node(tick_until=NOON - 3 * MINUTE)
    sweep_gaps(now=NOON)
    NodeReadiness.objects.filter(node=silent).update(tick_at=NOON + MINUTE, tick_until=NOON + 16 * MINUTE)

    sweep_gaps(now=NOON + 2 * MINUTE)

    assert gaps() == [("tick", NOON - 3 * MINUTE, NOON + MINUTE)]


def test_retired_nodes_and_closed_clusters_miss_nothing() -> None:
    node("gpu001", tick_until=NOON - 3 * MINUTE)
    Node.objects.update(retired_at=NOON - 2 * MINUTE)
    assert sweep_gaps(now=NOON) == 0

    Node.objects.update(retired_at=None)
    Cluster.objects.update(closed_at=NOON - 2 * MINUTE)
    assert sweep_gaps(now=NOON) == 0


def test_the_sweep_leaves_a_sign_of_life() -> None:
    sweep_gaps(now=NOON)
    sweep_gaps(now=NOON + MINUTE)

    assert list(Heartbeat.objects.values_list("name", "at")) == [("sweep", NOON + MINUTE)]
