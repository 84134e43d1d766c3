"""What waits for one person's signature: runs in sign-off with a slot for a role of theirs that nobody has filled."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Now

from checks.domain.policy import DEFAULT_POLICY, Policy
from checks.domain.verdicts import Layer
from checks.models import Membership, PolicyVersion, Run, Signature, Stage


@dataclass(frozen=True, slots=True)
class OpenSlot:
    """One line that nobody has signed, as far as rows tell; whether it can be signed now, the run's page says."""

    run_id: int
    layer: Layer
    role: str


def open_slots(user: Any) -> tuple[OpenSlot, ...]:
    """Slots open for *user*: one statement where no run of their clusters is in sign-off, three where some are.

    A signature that lapsed because what it names changed still fills its slot here: that takes the whole manifest to
    tell, and the run's page tells it.
    """
    asked = _asked(user)
    if not asked:
        return ()
    clusters = {cluster for _run, cluster, _role in asked}
    policies, filled = _policies(clusters), _filled({run for run, _cluster, _role in asked})
    slots = dict.fromkeys(
        OpenSlot(run, layer, role)
        for run, cluster, role in asked
        for layer, held in policies.get(cluster, DEFAULT_POLICY).layers.items()
        if role in held.roles
    )
    return tuple(slot for slot in slots if _is_open(slot, user.pk, filled.get((slot.run_id, slot.layer), [])))


def _asked(user: Any) -> list[tuple[int, int, str]]:
    """(run, cluster, role): runs in sign-off, and the roles that the person holds in their clusters."""
    held = Membership.objects.filter(user_id=user.pk, cluster__closed_at=None, cluster__runs__stage=Stage.SIGNOFF)
    return list(held.order_by("cluster__runs").values_list("cluster__runs", "cluster", "role"))


def _policies(clusters: Iterable[int]) -> dict[int, Policy]:
    approved = PolicyVersion.objects.filter(cluster__in=clusters, approval__isnull=False)
    newest = approved.order_by("cluster", "-number").distinct("cluster")
    return {cluster: Policy.read(document) for cluster, document in newest.values_list("cluster", "document")}


def _filled(runs: Iterable[int]) -> dict[tuple[int, str], list[tuple[str, int, int]]]:
    """(role, signer, round) of signatures that were neither revoked nor ended, by run and layer."""
    standing = Signature.objects.filter(package__run__in=runs, revocation=None)
    rows = standing.filter(Q(expires_at=None) | Q(expires_at__gt=Now())).annotate(layer=F("package__layer"))
    found: dict[tuple[int, str], list[tuple[str, int, int]]] = {}
    for run, layer, role, signer, number in rows.values_list("package__run", "layer", "role", "signer", "round"):
        found.setdefault((run, layer), []).append((role, signer, number))
    return found


def _is_open(slot: OpenSlot, user_id: int, filled: list[tuple[str, int, int]]) -> bool:
    newest = max((number for _role, _signer, number in filled), default=0)
    standing = [(role, signer) for role, signer, number in filled if number == newest]
    return all(role != slot.role and signer != user_id for role, signer in standing)


def runs_by_id(slots: Iterable[OpenSlot]) -> dict[int, Run]:
    """The runs of *slots*."""
    return Run.objects.select_related("cluster").in_bulk({slot.run_id for slot in slots})
