"""Who has to act, or must know: people by the roles that they hold now, and nobody whose account is closed."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Q

from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer
from checks.models import Cluster, Membership, Role
from checks.selectors.packages import RunState
from checks.selectors.runs import LEADING_ROLES

#: Who is told of trouble with nodes.
MENDING_ROLES = frozenset({Role.HARDWARE, Role.PLATFORM, Role.LEAD, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Asked:
    """One person whose signature is missing: in which of their roles, layer by layer."""

    person: Any
    slots: dict[Layer, tuple[str, ...]] = field(default_factory=dict)


def holders(cluster: Cluster, roles: Collection[str]) -> list[Any]:
    """Active people who hold one of *roles* in *cluster*, each once."""
    held = Membership.objects.filter(cluster=cluster, role__in=roles).values("user")
    return list(get_user_model().objects.filter(pk__in=held, is_active=True).order_by("pk"))


def leading(cluster: Cluster) -> list[Any]:
    """Leads and administrators of *cluster*."""
    return holders(cluster, LEADING_ROLES)


def site_administrators() -> list[Any]:
    """Administrators of any cluster that is not closed, and superusers."""
    held = Membership.objects.filter(role=Role.ADMIN, cluster__closed_at=None).values("user")
    return list(get_user_model().objects.filter(Q(pk__in=held) | Q(is_superuser=True), is_active=True).order_by("pk"))


def asked_to_sign(state: RunState, layers: Collection[Layer]) -> list[Asked]:
    """Whose signature is missing in *layers*: holders of a missing role who may sign there, two statements.

    Left out are those who have signed the layer already, and contributors unless the policy lets them sign.
    """
    rows = Membership.objects.filter(cluster=state.run.cluster, user__is_active=True).order_by("user", "role")
    people = {row.user_id: row.user for row in rows.select_related("user")}
    found = {key: Asked(person) for key, person in people.items()}
    roles = [(row.user_id, row.role) for row in rows]
    for layer in layers:
        missing, barred = state.layers[layer].missing_roles, _barred(state, layer)
        for key in people:
            mine = tuple(role for holder, role in roles if holder == key and role in missing and key not in barred)
            if mine:
                found[key].slots[layer] = mine
    return [asked for asked in found.values() if asked.slots]


def open_layers(state: RunState) -> list[Layer]:
    """Layers that still need a signature."""
    return [layer for layer, one in state.layers.items() if one.state is not SignState.SIGNED and one.missing_roles]


def _barred(state: RunState, layer: Layer) -> set[int]:
    """People who may not fill another slot of *layer*."""
    counting = set(state.layers[layer].counting)
    signed = {one.signer_id for one in state.signatures[layer] if one.pk in counting}
    return signed if state.policy.policy.contributors_may_sign else signed | set(state.contributors[layer])
