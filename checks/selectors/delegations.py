"""Who may sign for whom, now."""

from datetime import datetime

from django.db.models import Q, QuerySet

from checks.models import Cluster, Delegation


def delegations_in_force(cluster: Cluster, *, now: datetime) -> QuerySet[Delegation]:
    """Delegations of *cluster* that count at *now*: begun, neither over nor taken back."""
    return open_delegations(cluster, now=now).filter(starts_at__lte=now)


def open_delegations(cluster: Cluster, *, now: datetime) -> QuerySet[Delegation]:
    """Those in force and those still to begin."""
    return Delegation.objects.filter(cluster=cluster, ends_at__gt=now, end=None)


def is_in_force(delegation: Delegation, *, now: datetime) -> bool:
    """Whether *delegation* (read together with its end) counts at *now*, whatever its people hold."""
    return delegation.starts_at <= now < delegation.ends_at and not hasattr(delegation, "end")


def of_person(user_id: int) -> Q:
    """Delegations that a person gave or received."""
    return Q(giver=user_id) | Q(receiver=user_id)
