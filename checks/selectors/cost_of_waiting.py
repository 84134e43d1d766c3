"""What it costs an hour that a cluster's GPUs may not start. At most one statement; the gate does not ask here."""

from collections.abc import Collection
from decimal import Decimal

from checks.domain.cost.waiting import Waiting, waiting
from checks.models import Cluster, ClusterPrice, Run
from checks.selectors.hardware_counts import gpus_per_node


def gpu_prices(clusters: Collection[int]) -> dict[int, Decimal]:
    """US dollars for an hour of a GPU, by cluster; a cluster without a price is absent. One statement."""
    newest = ClusterPrice.objects.filter(cluster__in=clusters).order_by("cluster", "-id").distinct("cluster")
    return dict(newest.values_list("cluster", "amount"))


def cost_of_waiting(cluster: Cluster, *, nodes: int, price: Decimal | None = None) -> Waiting | None:
    """The cost of *nodes* of the cluster that cannot start: those that the whole board, or one item, blocks.

    *price* is a price that the caller has read already. None: nobody said what a GPU hour of the cluster costs.

    Raises:
        NoCatalogue, UnknownProfile: nobody can tell how many GPUs a node has.
    """
    if price is None:
        price = gpu_prices([cluster.pk]).get(cluster.pk)
    if price is None:
        return None
    return waiting(gpus=nodes * gpus_per_node(cluster), usd_per_gpu_hour=price)


def cost_of_waiting_run(run: Run, *, price: Decimal | None = None) -> Waiting | None:
    """The cost of a run that may not start: every node that it needs waits, the healthy ones too.

    Raises:
        NoCatalogue, UnknownProfile
    """
    return cost_of_waiting(run.cluster, nodes=run.nodes_needed, price=price)
