"""Money on a red cell: what it costs an hour that nodes may not start, and what skipping an item has cost."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from checks.domain.cost.waiting import GpuPrice, Waiting
from checks.domain.items import Item
from checks.domain.verdicts import BLOCKING, Severity, Verdict
from checks.models import Cluster
from checks.selectors.cost_of_skipping import SkippingCost, cost_of_skipping
from checks.selectors.cost_of_waiting import cost_of_waiting, gpu_prices
from checks.selectors.hardware_counts import gpus_per_node
from checks.selectors.runs import LEADING_ROLES


@dataclass(frozen=True, slots=True)
class Blocked:
    """GPUs that may not start. *waiting* is None where nobody said what a GPU hour of the cluster costs."""

    cluster: Cluster
    gpus: int
    per_node: int
    price: GpuPrice | None
    waiting: Waiting | None
    may_price: bool

    def usd_per_hour(self, nodes: int) -> Decimal | None:
        """What so many of the nodes cost an hour, looked at alone; None: no price, or no node."""
        return self.price.usd * nodes * self.per_node if self.price and nodes else None


@dataclass(frozen=True, slots=True)
class ItemMoney:
    """Of one item: what the nodes that it blocks cost, and what skipping it has cost others."""

    blocked: Blocked | None
    skipping: SkippingCost | None


def blocked_nodes(cluster: Cluster, nodes: int, *, roles: Collection[str]) -> Blocked | None:
    """What *nodes* nodes that may not start cost; None: no node, or none with a GPU. At most one statement."""
    return _blocked(cluster, nodes, gpu_prices([cluster.pk]).get(cluster.pk), roles) if nodes else None


def money_of_item(cluster: Cluster, item: Item, *, nodes: int, roles: Collection[str]) -> ItemMoney:
    """What an item costs that blocks *nodes* nodes. At most two statements."""
    price = gpu_prices([cluster.pk]).get(cluster.pk)
    blocked = _blocked(cluster, nodes, price, roles) if nodes else None
    return ItemMoney(blocked, cost_of_skipping(cluster, item.key, price=price))


def blocks(item: Item, verdict: Verdict) -> bool:
    """Whether that verdict of the item keeps a node from starting: a warning does not, nor does an item in shadow."""
    return verdict in BLOCKING and item.severity is Severity.BLOCKER and not item.shadow


def _blocked(cluster: Cluster, nodes: int, price: GpuPrice | None, roles: Collection[str]) -> Blocked | None:
    per_node = gpus_per_node(cluster)
    waiting = cost_of_waiting(cluster, nodes=nodes, price=price)
    may_price = bool(LEADING_ROLES & set(roles))
    return Blocked(cluster, nodes * per_node, per_node, price, waiting, may_price) if per_node else None
