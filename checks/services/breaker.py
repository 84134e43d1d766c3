"""The circuit breaker: an item that fails on very many nodes at once is in doubt before the nodes are.

While one is open, drains and messages of its cluster are held. It turns nothing ready: the gate keeps saying what was
judged, with code ``suspect_check``.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F, Max

from checks.domain.breaker import COOL_DOWN, SPAN, FailFlip, trips
from checks.domain.errors import CountersignError
from checks.models import BreakerTrip, Cluster, Flip, NodeItemState
from checks.services.ledger import write_entry

log = structlog.get_logger(__name__)


class ReasonMissing(CountersignError):
    """A breaker was to be ended without saying why."""

    code = "reason_missing"


@dataclass(slots=True)
class _Recent:
    """Nodes that went to raw fail on one item within the span."""

    flips: list[FailFlip] = field(default_factory=list)

    @property
    def last(self) -> datetime:
        return max(flip.at for flip in self.flips)


def watch_breakers(*, now: datetime) -> int:
    """Open, prolong and close the breakers of every cluster; returns how many were opened.

    Twice, or two at once, does the same: an item of a cluster has at most one open breaker.
    """
    _close_those_that_cooled_down(now=now)
    return sum(_watch(cluster, now=now) for cluster in Cluster.objects.filter(closed_at=None))


@transaction.atomic
def end_breaker(*, trip: BreakerTrip, by: AbstractBaseUser, reason: str, now: datetime) -> BreakerTrip:
    """End a breaker by a person's word; flips of before do not open it again.

    Raises:
        ReasonMissing: *reason* is empty.
    """
    if not reason.strip():
        raise ReasonMissing("Say why the check is trusted again; the reason is kept.")
    trip = BreakerTrip.objects.select_related("cluster").select_for_update(of=("self",), no_key=True).get(pk=trip.pk)
    if trip.ended_at is None:
        trip.ended_at, trip.ended_by_id, trip.reason = now, by.pk, reason[:300]
        trip.save(update_fields=["ended_at", "ended_by", "reason"])
        write_entry(what="breaker_ended", target=trip.item, who=by, cluster=trip.cluster, reason=reason, now=now)
    return trip


def _close_those_that_cooled_down(*, now: datetime) -> None:
    cooled = BreakerTrip.objects.filter(ended_at=None, last_flip_at__lte=now - COOL_DOWN)
    cooled.update(ended_at=F("last_flip_at") + COOL_DOWN)


def _watch(cluster: Cluster, *, now: datetime) -> int:
    return sum(_note(cluster, item, recent, now=now) for item, recent in _recent_flips(cluster, now=now).items())


def _recent_flips(cluster: Cluster, *, now: datetime) -> dict[str, _Recent]:
    """Each node's last flip to raw fail within the span, by item; those before a person ended a breaker are over."""
    flips = Flip.objects.filter(cluster=cluster, at__gt=now - SPAN, at__lte=now, raw="fail").exclude(raw_before="fail")
    ended = _ended_by_people(cluster, now=now)
    found: dict[str, _Recent] = defaultdict(_Recent)
    for item, node, at in flips.values_list("item", "node_id").annotate(last=Max("at")):
        if item not in ended or at > ended[item]:
            found[item].flips.append(FailFlip(str(node), at))
    return found


def _ended_by_people(cluster: Cluster, *, now: datetime) -> dict[str, datetime]:
    ended = BreakerTrip.objects.filter(cluster=cluster, ended_by__isnull=False, ended_at__gt=now - SPAN)
    return dict(ended.values_list("item").annotate(last=Max("ended_at")))


@transaction.atomic
def _note(cluster: Cluster, item: str, recent: _Recent, *, now: datetime) -> bool:
    """Prolong the item's open breaker, or open one when it trips; whether one was opened."""
    open_ones = BreakerTrip.objects.select_for_update(no_key=True)
    open_one = open_ones.filter(cluster=cluster, item=item, ended_at=None).first()
    if open_one is not None:
        open_one.last_flip_at = max(open_one.last_flip_at, recent.last)
        open_one.nodes = max(open_one.nodes, len(recent.flips))
        open_one.save(update_fields=["last_flip_at", "nodes"])
        return False
    of_nodes = _nodes_judged(cluster, item)
    return trips(recent.flips, nodes=of_nodes, now=now) and _open(cluster, item, recent, of_nodes, now=now)


def _open(cluster: Cluster, item: str, recent: _Recent, of_nodes: int, *, now: datetime) -> bool:
    counts = {"nodes": len(recent.flips), "of_nodes": of_nodes, "tripped_at": now, "last_flip_at": recent.last}
    trip = BreakerTrip(cluster=cluster, item=item, **counts)
    BreakerTrip.objects.bulk_create([trip], ignore_conflicts=True)
    opened = BreakerTrip.objects.filter(cluster=cluster, item=item, ended_at=None, tripped_at=now).exists()
    if opened:
        log.warning("breaker.tripped", cluster=cluster.slug, item=item, nodes=len(recent.flips), of_nodes=of_nodes)
        data = {"nodes": len(recent.flips), "of_nodes": of_nodes}
        write_entry(what="breaker_tripped", target=item, cluster=cluster, now=now, data=data)
    return opened


def _nodes_judged(cluster: Cluster, item: str) -> int:
    """Nodes that the item applies to, retired ones left out."""
    rows = NodeItemState.objects.filter(node__cluster=cluster, node__retired_at=None, item=item).exclude(raw="na")
    return rows.values("node").distinct().count()
