"""The node that an output of a tool is sent for, by the token that sends it."""

from checks.domain.errors import CountersignError
from checks.models import Node, Token
from checks.selectors.run_rest import clusters_of_token


class NoSuchNode(CountersignError):
    """There is no such node, or not for this token."""

    code = "not_found"
    status = 404

    def __init__(self, hostname: str) -> None:
        super().__init__(f"There is no node {hostname[:100]!r} here; check its name, and what the token is for.")


class WrongNode(CountersignError):
    """An agent's token speaks for its own node."""

    code = "wrong_node"
    status = 403


class AmbiguousNode(CountersignError):
    """Several clusters of the token have a node of that name."""

    code = "ambiguous_node"


def node_for_evidence(token: Token, hostname: str, cluster: str = "") -> Node:
    """The node *hostname* (of *cluster*, where it is named): the token's own, or one of an operator's clusters.

    Raises:
        NoSuchNode, WrongNode, AmbiguousNode.
    """
    name = hostname.strip().lower()
    if token.node is not None:
        if name not in ("", token.node.hostname) or cluster not in ("", token.node.cluster.slug):
            raise WrongNode(f"This token belongs to {token.node.hostname}; send what was measured there.")
        return token.node
    nodes = Node.objects.select_related("cluster").filter(cluster__in=clusters_of_token(token), hostname=name)
    found = list((nodes.filter(cluster__slug=cluster) if cluster else nodes).order_by("cluster__slug")[:2])
    if not found:
        raise NoSuchNode(hostname)
    if len(found) > 1:
        raise AmbiguousNode(f"Several clusters have a node {name}; name one with cluster=.")
    return found[0]
