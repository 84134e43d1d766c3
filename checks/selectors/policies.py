"""Which sign-off policy a cluster has."""

from dataclasses import dataclass

from checks.domain.policy import DEFAULT_POLICY, Policy
from checks.models import Cluster, PolicyVersion


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """The policy and its number; number 0 is the default one, which nobody had to agree on."""

    number: int
    policy: Policy


def policy_in_force(cluster: Cluster) -> PolicyInForce:
    """The newest policy of *cluster* that a second person approved; the default where there is none."""
    approved = PolicyVersion.objects.filter(cluster=cluster, approval__isnull=False)
    found = approved.order_by("-number").values_list("number", "document").first()
    return PolicyInForce(found[0], Policy.read(found[1])) if found else PolicyInForce(0, DEFAULT_POLICY)
