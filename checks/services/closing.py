"""The end of a cluster: nothing is deleted, because what people signed names it."""

from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from checks.models import Cluster
from checks.services.cluster_locks import lock_cluster
from checks.services.ledger import write_entry


@transaction.atomic
def close_cluster(*, cluster: Cluster, by: AbstractBaseUser | None, reason: str, now: datetime) -> Cluster:
    """Take *cluster* off the board and the gate; its agents are told to stop, its history stays. Twice is harmless."""
    cluster = lock_cluster(cluster.pk)
    if cluster.closed_at is None:
        cluster.closed_at = now
        cluster.save(update_fields=["closed_at"])
        write_entry(what="cluster_closed", target=cluster.slug, who=by, cluster=cluster, reason=reason, now=now)
    return cluster
