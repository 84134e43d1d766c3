"""``ops-maintenance-window``: whether a cluster has a daily window, and when anything was last measured in one."""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from checks.domain.facts import Fact
from checks.domain.freshness import valid_until
from checks.domain.units import Scalar
from checks.models import Cluster, MaintenanceWindow, NodeClaim
from checks.selectors.rules import ruleset_for
from checks.services.evidence import keep_text
from checks.services.judging import judge_derived
from checks.services.scope_rows import as_state, lock_scope_row, write_back

ITEM: Final = "ops-maintenance-window"
#: How far back the text tells, item by item; the item's threshold is the catalogue's.
_TOLD: Final = timedelta(hours=26)
_MOST_LINES: Final = 100


def derive_window_items(*, now: datetime) -> int:
    """Judge the windows of every open cluster; returns how many rows. Twice is harmless."""
    clusters = [one for one in Cluster.objects.filter(closed_at=None) if ITEM in ruleset_for(one).applicable]
    for cluster in clusters:
        _judge(cluster, now)
    return len(clusters)


@transaction.atomic
def _judge(cluster: Cluster, now: datetime) -> None:
    item = ruleset_for(cluster).items[ITEM]
    facts = [Fact(ITEM, "", name, value, item.facts[name].value, now) for name, value in _facts(cluster, now).items()]
    row = lock_scope_row(cluster, item, "", now=now)
    gap = timedelta(seconds=cluster.min_settle_gap_s)
    after = judge_derived(as_state(row), item, facts, [], observed_at=now, min_gap=gap, now=now)
    after.observed_at = now
    after.valid_until = valid_until(now, item.cadence, timedelta(seconds=cluster.interval_s), item)
    after.evidence = keep_text("windows", _what_ran(cluster, now), now=now)
    write_back(row, after)


def _facts(cluster: Cluster, now: datetime) -> dict[str, Scalar]:
    """A window that was never used counts from when the first one was set."""
    windows = MaintenanceWindow.objects.filter(cluster=cluster, kind="maintenance", ended_at=None)
    first_set = windows.order_by("set_at").values_list("set_at", flat=True).first()
    if first_set is None:
        return {"window_set": False}
    used = NodeClaim.objects.filter(node__cluster=cluster).order_by("-claimed_at")
    last = used.values_list("claimed_at", flat=True).first()
    since = now - max(first_set, last or first_set)
    return {"window_set": True, "time_since_use": round(max(since.total_seconds(), 0.0))}


def _what_ran(cluster: Cluster, now: datetime) -> list[str]:
    claims = NodeClaim.objects.filter(node__cluster=cluster, claimed_at__gte=now - _TOLD).select_related("node")
    return [
        f"{one.claimed_at:%F %H:%M} {one.node.hostname}: {', '.join(one.items)}"
        + (f", {one.ended_by}" if one.ended_by else "")
        for one in claims.order_by("-claimed_at")[:_MOST_LINES]
    ]
