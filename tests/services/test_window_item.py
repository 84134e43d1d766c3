"""Whether a cluster has a maintenance window, and uses it."""

from datetime import time, timedelta

import pytest
from django.conf import settings

from checks.domain.windows import WindowKind
from checks.models import Cluster, Evidence, NodeClaim, ScopeState
from checks.services.window_item import ITEM, derive_window_items
from checks.services.windows import set_window
from tests.factories import NOON, enrolled_machine, make_cluster, put_catalogue_in_force

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def cluster() -> Cluster:
    put_catalogue_in_force(settings.BASE_DIR / "checks" / "catalog")
    return make_cluster()


def judged(hours: float = 0) -> tuple[str, str]:
    """Raw verdict and detail, *hours* after noon."""
    derive_window_items(now=NOON + hours * HOUR)
    row = ScopeState.objects.get(item=ITEM)
    return row.raw, row.detail


def with_window(cluster: Cluster) -> None:
    set_window(
        cluster=cluster, kind=WindowKind.MAINTENANCE, opens=time(4), closes=time(6), by=None, reason="", now=NOON
    )


def test_a_cluster_without_a_window_fails_and_blocks_nothing(cluster: Cluster) -> None:
    assert judged()[0] == "fail"
    assert ScopeState.objects.get(item=ITEM).blocks == 0


def test_a_window_that_was_just_set_had_no_time_to_be_used(cluster: Cluster) -> None:
    with_window(cluster)

    assert judged(26)[0] == "pass"


def test_a_window_that_nothing_ran_in_for_26_hours_fails(cluster: Cluster) -> None:
    with_window(cluster)

    assert judged(26.1) == ("fail", "time_since_use 93960 seconds, needs ≤ 93600")


def test_what_ran_in_it_is_told_item_by_item(cluster: Cluster) -> None:
    with_window(cluster)
    node = enrolled_machine(cluster).node
    taken = NOON + 16 * HOUR
    NodeClaim.objects.create(node=node, items=["nvme-fio", "gpu-burn"], claimed_at=taken, until=taken + HOUR)

    assert judged(40)[0] == "pass"
    text = Evidence.objects.get(digest=ScopeState.objects.get(item=ITEM).evidence).text
    assert text == "2026-12-01 04:00 gpu001: nvme-fio, gpu-burn"
