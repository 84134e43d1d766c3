"""Where a person states what no probe measures."""

from collections.abc import Collection
from urllib.parse import urlencode

from django.urls import reverse

from checks.domain.items import Item
from checks.domain.verdicts import NODE_HELD, Scope, Source
from checks.models import Cluster
from checks.selectors.pages_access import ACTING_ROLES

_OF_THE_SITE = NODE_HELD | {Scope.CLUSTER}


def state_href(item: Item, cluster: Cluster, roles: Collection[str], *, node: str = "", run: str = "") -> str:
    """The form that states *item*, begun with *node* and *run*; empty where it is measured, or *roles* do not act."""
    if item.source is not Source.ATTESTED or item.shadow or not ACTING_ROLES & set(roles):
        return ""
    begun = {"node": node} if item.scope in NODE_HELD else {} if item.scope in _OF_THE_SITE else {"run": run}
    given = urlencode({name: value for name, value in begun.items() if value})
    address = reverse("ui:attest", args=[cluster.slug, item.key])
    return f"{address}?{given}" if given else address
