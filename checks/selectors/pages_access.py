"""Which clusters a person sees, and as what: look-up and permission in one step."""

from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q

from checks.models import Cluster, Membership, Node, Role

# Who works on the machines; viewers look only.
ACTING_ROLES = frozenset({Role.HARDWARE, Role.PLATFORM, Role.DATA, Role.LEAD, Role.ADMIN})
# Who decides whether a machine is believed, and whether it stays.
DECIDING_ROLES = frozenset({Role.HARDWARE, Role.PLATFORM, Role.LEAD, Role.ADMIN})
# Who brings machines in: an enrolment token lets a machine speak for itself.
ENROLLING_ROLES = frozenset({Role.LEAD, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """One cluster and the roles that one person holds in it."""

    cluster: Cluster
    roles: frozenset[str]

    @property
    def may_recheck(self) -> bool:
        """Whether this person may ask a node to measure again."""
        return bool(self.roles & ACTING_ROLES)

    @property
    def may_decide(self) -> bool:
        """Whether this person may let a node enrol again, confirm its hardware, or take it out."""
        return bool(self.roles & DECIDING_ROLES)

    @property
    def may_enrol(self) -> bool:
        """Whether this person may issue enrolment tokens."""
        return bool(self.roles & ENROLLING_ROLES)


def clusters_of(user: Any) -> tuple[ClusterAccess, ...]:
    """Every open cluster that *user* has a role in; a superuser is administrator of all."""
    open_clusters = Cluster.objects.filter(closed_at=None)
    if user.is_superuser:
        return tuple(ClusterAccess(cluster, frozenset({Role.ADMIN})) for cluster in open_clusters)
    mine = open_clusters.filter(memberships__user=user).annotate(
        my_roles=ArrayAgg("memberships__role", filter=Q(memberships__user=user))
    )
    return tuple(ClusterAccess(cluster, frozenset(cluster.my_roles)) for cluster in mine)


def cluster_of(user: Any, slug: str) -> ClusterAccess | None:
    """The open cluster *slug* as *user* sees it; None where it does not exist or is a stranger's, which look alike."""
    cluster = Cluster.objects.filter(slug=slug, closed_at=None).first()
    if cluster is None:
        return None
    if user.is_superuser:
        return ClusterAccess(cluster, frozenset({Role.ADMIN}))
    roles = frozenset(Membership.objects.filter(user=user, cluster=cluster).values_list("role", flat=True))
    return ClusterAccess(cluster, roles) if roles else None


def node_of(access: ClusterAccess, hostname: str) -> Node | None:
    """The node *hostname* of that cluster with its summary, retired ones included: their history stays readable."""
    nodes = Node.objects.select_related("readiness").filter(cluster=access.cluster)
    node = nodes.filter(hostname=hostname).first()
    if node is not None:
        node.cluster = access.cluster
    return node
