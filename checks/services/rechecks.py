"""Ask a node to measure again: a person who has just mended something, or the schedule before evidence ends.

A request is handed out with the plan and with the answer to a report, until a report measured after it covers its items
or it has expired. The portal calls nobody: a node that does not ask is not reached.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet

from checks.domain.errors import CountersignError
from checks.domain.verdicts import Cadence
from checks.models import Node, RecheckRequest
from checks.selectors.rules import ruleset_for

# An agent asks for its plan each minute, in large fleets each five: an hour unheard is a node that is away.
EXPIRES_AFTER = timedelta(hours=1)
ASK_BEFORE_END = timedelta(hours=2)


class NothingToRecheck(CountersignError):
    """An item is not among what the node's agent measures in its own rounds."""

    code = "nothing_to_recheck"


@transaction.atomic
def request_recheck(
    *, node: Node, items: Collection[str], requested_by: AbstractBaseUser | None, now: datetime, reason: str = ""
) -> RecheckRequest:
    """Have *node* measure *items* when its agent calls next; asking twice gives the request that is already open.

    Raises:
        NothingToRecheck: no item is named, or one that this node does not measure by itself.
    """
    wanted = sorted(set(items))
    _require_measurable(node, wanted)
    node = Node.objects.select_for_update(no_key=True).select_related("cluster").get(pk=node.pk)
    already = open_requests(now=now).filter(node=node, items=wanted).first()
    return already or RecheckRequest.objects.create(
        node=node,
        items=wanted,
        requested_by_id=requested_by.pk if requested_by else None,
        requested_at=now,
        reason=reason[:300],
        expires_at=now + EXPIRES_AFTER,
    )


def open_requests(*, now: datetime) -> QuerySet[RecheckRequest]:
    """Requests neither measured nor given up, oldest first."""
    return RecheckRequest.objects.filter(done_at=None, expires_at__gt=now).order_by("requested_at", "id")


@transaction.atomic
def pick_up(*, node: Node, now: datetime) -> list[RecheckRequest]:
    """The open requests of *node*, for its agent; marked when they are given for the first time."""
    found = list(open_requests(now=now).filter(node=node))
    if any(request.picked_up_at is None for request in found):
        ids = [request.pk for request in found]
        RecheckRequest.objects.filter(pk__in=ids, picked_up_at=None).update(picked_up_at=now)
    return found


def ask_before_evidence_ends(*, now: datetime) -> int:
    """Ask each node that still reports for its daily items again when their evidence ends within two hours.

    A daily round that was missed or cut short gets a second chance before it stops the node. Returns how many nodes
    were asked; a node with an open request of the schedule is not asked again.
    """
    ending = Node.objects.filter(
        retired_at=None,
        cluster__closed_at=None,
        readiness__tick_until__gt=now,
        readiness__daily_until__lte=now + ASK_BEFORE_END,
    ).exclude(pk__in=open_requests(now=now).filter(requested_by=None).values("node"))
    return sum(_ask_for_daily(node, now=now) for node in ending.select_related("cluster"))


def measurable_items(node: Node) -> frozenset[str]:
    """What the agent's own rounds measure on *node*; nothing disruptive is among it."""
    rules = ruleset_for(node.cluster, node)
    return frozenset(item for cadence in (Cadence.TICK, Cadence.DAILY) for item in rules.planned(cadence))


def _ask_for_daily(node: Node, *, now: datetime) -> bool:
    items = ruleset_for(node.cluster, node).due(Cadence.DAILY)
    if not items:
        return False
    request_recheck(node=node, items=items, requested_by=None, reason="daily evidence ends soon", now=now)
    return True


def _require_measurable(node: Node, wanted: list[str]) -> None:
    if not wanted:
        raise NothingToRecheck("Name at least one item to measure again.")
    refused = sorted(set(wanted) - measurable_items(node))
    if refused:
        names = ", ".join(refused)
        raise NothingToRecheck(f"{node.hostname} does not measure {names} in its rounds; choose items of its plan.")
