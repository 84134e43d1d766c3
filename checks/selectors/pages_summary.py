"""When a cluster's nodes were last heard."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, Q

from checks.domain.verdicts import RANK, Verdict
from checks.models import Cluster, Node
from checks.selectors.pages_verdicts import cluster_ranks


@dataclass(frozen=True, slots=True)
class Reports:
    """Nodes of one cluster by their last report."""

    nodes: int = 0
    never: int = 0
    newest: datetime | None = None
    oldest: datetime | None = None


def reports_by_cluster(clusters: Collection[Cluster]) -> dict[int, Reports]:
    """For each cluster's nodes that are not retired: one statement."""
    heard = (
        Node.objects.filter(cluster__in=clusters, retired_at=None)
        .values_list("cluster_id")
        .annotate(
            nodes=Count("id"),
            never=Count("id", filter=Q(readiness__last_report_at=None)),
            newest=Max("readiness__last_report_at"),
            oldest=Min("readiness__last_report_at"),
        )
    )
    return {cluster_id: Reports(*rest) for cluster_id, *rest in heard}


def reports_of(cluster: Cluster) -> Reports:
    """The same for one cluster."""
    return reports_by_cluster([cluster]).get(cluster.pk, Reports())


def failing_hosts(clusters: Collection[Cluster], *, now: datetime) -> dict[int, frozenset[str]]:
    """Nodes with a fresh failure of what health asks for, by cluster; the other nodes that are not ready cannot tell.

    One statement, over the rows of those nodes whose summary tells of a failure. A node judged by other rules than
    those in force tells nothing.
    """
    by_id = {cluster.pk: cluster for cluster in clusters}
    rows = cluster_ranks(clusters, now=now).filter(
        node__readiness__health_failed__gt=0, blocks=2, rank=RANK[Verdict.FAIL]
    )
    failing = rows.values_list("node__cluster_id", "node__hostname", "node__profile", "node__readiness__judged_under")
    found: dict[int, set[str]] = {cluster_id: set() for cluster_id in by_id}
    for cluster_id, hostname, profile, judged_under in failing.distinct():
        cluster = by_id[cluster_id]
        if judged_under == cluster.judged_under.get(profile or cluster.profile):
            found[cluster_id].add(hostname)
    return {cluster_id: frozenset(hosts) for cluster_id, hosts in found.items()}
