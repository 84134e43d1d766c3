"""What it costs an hour that a cluster's GPUs may not start. At most one statement, and none for the gate."""

from collections.abc import Collection, Mapping

from checks.domain.answers import Answer
from checks.domain.cost.waiting import GpuPrice, Waiting, waiting, waiting_json
from checks.models import Cluster, ClusterPrice, Run
from checks.selectors.gate_context import GateContext
from checks.selectors.hardware_counts import gpus_per_node
from checks.selectors.rules import rules_in_force


def gpu_prices(clusters: Collection[int]) -> dict[int, GpuPrice]:
    """What an hour of a GPU costs, by cluster; a cluster without a price is absent. One statement."""
    newest = ClusterPrice.objects.filter(cluster__in=clusters).order_by("cluster_id", "-id").distinct("cluster_id")
    return {row.cluster_id: GpuPrice(row.amount, row.reason, row.at) for row in newest}


def cost_of_waiting(cluster: Cluster, *, nodes: int, price: GpuPrice | None) -> Waiting | None:
    """The cost of *nodes* of the cluster that cannot start: those that the whole board, or one item, blocks.

    None: nobody said what a GPU hour of the cluster costs, and *price* is None.

    Raises:
        NoCatalogue, UnknownProfile: nobody can tell how many GPUs a node has.
    """
    return None if price is None else waiting(gpus=nodes * gpus_per_node(cluster), usd_per_gpu_hour=price.usd)


def cost_of_waiting_run(run: Run, *, price: GpuPrice | None) -> Waiting | None:
    """The cost of a run that may not start: every node that it needs waits, the healthy ones too.

    Raises:
        NoCatalogue, UnknownProfile
    """
    return cost_of_waiting(run.cluster, nodes=run.nodes_needed, price=price)


def cost_at_gate(context: GateContext, answer: Answer) -> Mapping[str, object] | None:
    """What the gate tells of the nodes that wait for another answer, without any statement; None: nothing waits."""
    if not answer.nodes_waiting:
        return None
    cluster = context.cluster
    rules = rules_in_force(cluster.judged_under.get(cluster.profile), cluster_id=cluster.id, profile=cluster.profile)
    gpus = answer.nodes_waiting * rules.profile.gpus
    return waiting_json(gpus, context.price) if gpus else None
