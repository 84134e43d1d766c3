"""What one person is in one cluster, now."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from checks.models import Cluster, Membership, Role


def roles_of(user: Any, cluster: Cluster) -> frozenset[str]:
    """The roles by which *user* may act in *cluster*; a superuser is administrator of all, an inactive person nothing.

    No role to sign with: `held_since` tells that, and knows no superusers.
    """
    if user is None or not user.is_active:
        return frozenset()
    held = frozenset(Membership.objects.filter(user_id=user.pk, cluster=cluster).values_list("role", flat=True))
    return held | {Role.ADMIN} if user.is_superuser else held


def held_since(user_ids: Collection[int], cluster: Cluster) -> dict[tuple[int, str], datetime]:
    """Since when each of those people holds which role, (person, role) -> time; a role that was granted, and no other.

    An administrator of the site who holds no role stands nowhere here: nobody signs by privilege.
    """
    held = Membership.objects.filter(user_id__in=user_ids, cluster=cluster, user__is_active=True)
    return {(user_id, role): since for user_id, role, since in held.values_list("user_id", "role", "granted_at")}
