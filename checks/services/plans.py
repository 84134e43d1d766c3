"""Hand a node its plan: reading it marks the re-checks in it as picked up."""

from dataclasses import dataclass
from datetime import datetime

from checks.domain.errors import CountersignError
from checks.models import Node, Token
from checks.selectors.plans import Plan, Recheck, plan_etag, plan_of
from checks.selectors.rules import ruleset_for
from checks.selectors.windows import offline_items_due
from checks.services.rechecks import pick_up


class NodeRetired(CountersignError):
    """The node was taken out; its agent should be removed."""

    code = "node_retired"
    status = 403


def require_active(hostname: str, *, retired: bool, cluster_closed: bool) -> None:
    """Raise ``NodeRetired`` when the node or its cluster takes no part any more."""
    if retired or cluster_closed:
        raise NodeRetired(f"{hostname} was retired from its cluster; remove the agent, or enrol it again.")


@dataclass(frozen=True, slots=True)
class TaggedPlan:
    """A plan with the entity tag that names it."""

    plan: Plan
    etag: str


def plan_for_agent(*, token: Token, now: datetime) -> TaggedPlan:
    """The plan of the agent that holds *token*.

    Raises:
        NodeRetired: its node or cluster takes no part any more.
    """
    node = node_of_agent(token)
    cluster = node.cluster
    rechecks = tuple(Recheck(request.pk, tuple(request.items)) for request in pick_up(node=node, now=now))
    ruleset, interval_s, poll_after_s = ruleset_for(cluster, node), cluster.interval_s, cluster.poll_after_s
    offline = offline_items_due(node, ruleset, now)
    return TaggedPlan(
        plan_of(ruleset, interval_s=interval_s, poll_after_s=poll_after_s, rechecks=rechecks, offline=offline),
        plan_etag(ruleset, interval_s=interval_s, poll_after_s=poll_after_s, rechecks=rechecks, offline=offline),
    )


def node_of_agent(token: Token) -> Node:
    """The node whose agent holds *token*.

    Raises:
        NodeRetired: it takes no part any more.
        CountersignError: code ``not_an_agent``.
    """
    node = token.node
    if node is None:
        raise CountersignError("This token belongs to no node; use the agent's own.", code="not_an_agent", status=403)
    closed = node.cluster.closed_at is not None
    require_active(node.hostname, retired=node.retired_at is not None, cluster_closed=closed)
    return node
