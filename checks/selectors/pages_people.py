"""Who holds which role in a cluster."""

from collections import defaultdict

from checks.models import Cluster, Membership


def people_by_role(cluster: Cluster) -> dict[str, list[str]]:
    """Names of active people by role, as pages call them."""
    members = Membership.objects.filter(cluster=cluster, user__is_active=True).select_related("user")
    people: dict[str, list[str]] = defaultdict(list)
    for membership in members.order_by("user__username"):
        people[membership.role].append(str(membership.user))
    return people
