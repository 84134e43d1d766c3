"""A cluster's row, locked before any other row of it: one change of its rules, people or nodes at a time.

Whoever signs holds it too, but not against each other: what a signer reads of the rules stays in force until the
signature is in the ledger, and an act with a higher number there took effect after it.
"""

from django.db import connection

from checks.models import Cluster


def lock_cluster(cluster: int) -> Cluster:
    """The cluster with that number, locked until the transaction ends, as it is from then on."""
    return Cluster.objects.select_for_update(no_key=True).get(pk=cluster)


def hold_cluster(cluster: int) -> None:
    """Let nobody lock the cluster until the transaction ends; others may hold it at the same time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM checks_cluster WHERE id = %s FOR SHARE", [cluster])
