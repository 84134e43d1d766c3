"""A node taken by its own agent for items that disturb a job, and given back.

While a claim stands the gate calls the node *not_ready*, code ``measuring``. It ends by the agent's word, by the report
of what was measured, or by its time alone: an agent that was killed keeps no node for longer than it said.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet

from checks.domain.errors import CountersignError
from checks.models import Cluster, Node, NodeClaim, RunNode, Stage, Token
from checks.selectors.rules import ruleset_for
from checks.selectors.windows import claimable_items, open_claim, window_open_until, window_opens_at
from checks.services.ledger import write_entry
from checks.services.plans import require_active

#: Minutes of one claim: two hours of memory test and all the others.
LONGEST_CLAIM: Final = 240
#: A window that ends within this is as good as over.
SHORTEST_CLAIM: Final = timedelta(minutes=1)
#: Stages in which a run may be on its nodes.
ENGAGED: Final = (Stage.CLEARED, Stage.RUNNING)


class ClaimRefused(CountersignError):
    """The node cannot be taken now, or not for that; ``code`` says which."""

    code = "nothing_to_claim"


@transaction.atomic
def claim_node(*, token: Token, hostname: str, items: Collection[str], minutes: int, now: datetime) -> NodeClaim:
    """Take the token's own node for *items*, for *minutes* or to the end of the window, whichever comes first.

    Raises:
        NodeRetired: the node or its cluster takes no part any more.
        ClaimRefused: ``wrong_node`` for another node than the token's, ``nothing_to_claim`` for items that are not
            measured offline there, ``node_engaged`` while a run is cleared or running on it, ``already_claimed`` while
            another claim stands, ``outside_window`` while no window is open.
    """
    node = _locked(token, hostname)
    wanted = sorted(set(items))
    _require_claimable(node, wanted)
    _require_free(node, now)
    until = min(now + timedelta(minutes=minutes), _window_end(node.cluster, now))
    NodeClaim.objects.filter(node=node, ended_at=None).update(ended_at=F("until"), ended_by=NodeClaim.End.TIME)
    claim = NodeClaim.objects.create(node=node, items=wanted, claimed_at=now, until=until)
    write_entry(
        what="node_claimed", target=node.hostname, cluster=node.cluster, now=now,
        data={"items": wanted, "until": until.isoformat()},
    )  # fmt: skip
    return claim


@transaction.atomic
def release_node(*, token: Token, hostname: str, now: datetime) -> None:
    """Give the token's own node back, whether or not a claim stands on it.

    Raises:
        NodeRetired, ClaimRefused: as for a claim.
    """
    node = _locked(token, hostname)
    standing = NodeClaim.objects.filter(node=node, ended_at=None, until__gt=now)
    _end(standing.first(), NodeClaim.End.RELEASED, node.hostname, node.cluster, now)


def end_by_report(*, node_id: UUID, hostname: str, cluster: Cluster, measured_at: datetime, now: datetime) -> None:
    """End the claim that a report of offline items answers; one that was measured before the claim answers none."""
    standing = NodeClaim.objects.filter(node_id=node_id, ended_at=None, until__gt=now, claimed_at__lte=measured_at)
    _end(standing.first(), NodeClaim.End.REPORTED, hostname, cluster, now)


def _end(claim: NodeClaim | None, how: NodeClaim.End, hostname: str, cluster: Cluster, now: datetime) -> None:
    if claim is None:
        return
    claim.ended_at, claim.ended_by = now, how
    claim.save(update_fields=["ended_at", "ended_by"])
    write_entry(
        what="claim_ended", target=hostname, cluster=cluster, now=now,
        data={"items": claim.items, "claimed_at": claim.claimed_at.isoformat(), "how": how.value},
    )  # fmt: skip


def _locked(token: Token, hostname: str) -> Node:
    """The token's node, locked."""
    return own_node(token, hostname, Node.objects.select_for_update(no_key=True, of=("self",)))


def own_node(token: Token, hostname: str, nodes: QuerySet[Node]) -> Node:
    """The token's node, read from *nodes*; the name in the address must be its own.

    Raises:
        NodeRetired: the node or its cluster takes no part any more.
        ClaimRefused: ``wrong_node``.
    """
    if token.node_id is None:
        raise CountersignError("This token belongs to no node; use the agent's own.", code="not_an_agent", status=403)
    node = nodes.select_related("cluster").get(pk=token.node_id)
    require_active(
        node.hostname, retired=node.retired_at is not None, cluster_closed=node.cluster.closed_at is not None
    )
    if node.hostname != hostname.lower():
        raise ClaimRefused(
            f"This token belongs to {node.hostname}; every node is taken by its own agent.",
            code="wrong_node",
            status=403,
        )
    return node


def _require_claimable(node: Node, wanted: list[str]) -> None:
    refused = sorted(set(wanted) - claimable_items(ruleset_for(node.cluster, node)))
    if refused or not wanted:
        names = ", ".join(refused) or "nothing"
        raise ClaimRefused(
            f"{names} is not measured offline on {node.hostname}; name items of that cadence.", status=422
        )


def _require_free(node: Node, now: datetime) -> None:
    run = RunNode.objects.filter(node=node, run__stage__in=ENGAGED).values_list("run__slug", "run__stage").first()
    if run is not None:
        raise ClaimRefused(
            f"{node.hostname} is in the pool of {run[0]}, which is {run[1]}; measure it when that has ended.",
            code="node_engaged", status=409,
        )  # fmt: skip
    standing = open_claim(node, now)
    if standing is not None:
        raise ClaimRefused(
            f"{node.hostname} is being measured already, until {standing.until.isoformat(timespec='seconds')}; "
            "wait for that.", code="already_claimed", status=409,
        )  # fmt: skip


def _window_end(cluster: Cluster, now: datetime) -> datetime:
    until = window_open_until(cluster, now)
    if until is not None and until - now >= SHORTEST_CLAIM:
        return until
    opens = window_opens_at(cluster, now)
    when = f"the next opens at {opens:%Y-%m-%d %H:%M %Z}" if opens else "set one with `manage.py cluster window set`"
    raise ClaimRefused(f"No window of {cluster.slug} is open now; {when}.", code="outside_window", status=409)
