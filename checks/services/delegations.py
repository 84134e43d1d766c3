"""Somebody who holds a role lets somebody else who holds it sign for them, for a while."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.policy import SIGNING_ROLES
from checks.domain.writing import is_storable
from checks.models import Cluster, Delegation, DelegationEnd, Role, Run
from checks.selectors.delegations import open_delegations
from checks.selectors.roles import held_since
from checks.selectors.runs import LEADING_ROLES
from checks.services.cluster_locks import lock_cluster
from checks.services.ledger import write_entry
from checks.services.permissions import MayNot, require_reason, require_role
from checks.services.proofs import Proof, require_fresh

LONGEST: Final = timedelta(days=14)


class DelegationRefused(CountersignError):
    """The delegation cannot be as it was asked for; the sentence says what to change."""

    code = "delegation_refused"


@transaction.atomic
def delegate(
    *,
    cluster: Cluster,
    role: str,
    giver: Any,
    receiver: Any,
    starts_at: datetime,
    ends_at: datetime,
    reason: str,
    proof: Proof,
    now: datetime,
    run: Run | None = None,
) -> Delegation:
    """Let *receiver* sign as *role* for *giver*, who asks for it: for one *run*, or all of the cluster.

    It makes no signer of anybody: the receiver holds the role as well, signs under their own name, and fills no second
    slot of a package. Giving on what one received is refused (no chain).

    Raises:
        ProofTooOld, ReasonMissing.
        MayNot: one of the two does not hold the role now.
        DelegationRefused: too long, over before it begins, to oneself, or a chain.
    """
    require_fresh(proof, now=now)
    reason = require_reason(reason)
    cluster = lock_cluster(cluster.pk)  # two at once could make a chain
    _check_times(starts_at, ends_at, now)
    _check_people(cluster, role, giver, receiver, now)
    if run is not None and run.cluster_id != cluster.pk:
        raise DelegationRefused(_("That run belongs to another cluster."))
    given = Delegation.objects.create(
        cluster=cluster, run=run, role=role, giver=giver, receiver=receiver, starts_at=starts_at, ends_at=ends_at,
        reason=reason, given_at=now,
    )  # fmt: skip
    _write("delegated", given, giver, reason, now)
    return given


@transaction.atomic
def end_delegation(*, delegation: Delegation, by: Any, reason: str, proof: Proof, now: datetime) -> DelegationEnd:
    """Take a delegation back; what was signed under it counts no more.

    Raises:
        ProofTooOld, ReasonMissing.
        MayNot: *by* neither gave nor received it, and does not lead the cluster.
        DelegationRefused: it is over already.
    """
    require_fresh(proof, now=now)
    reason = require_reason(reason)
    cluster = lock_cluster(delegation.cluster_id)
    if by.pk not in (delegation.giver_id, delegation.receiver_id):
        require_role(by, cluster, LEADING_ROLES)
    if not open_delegations(cluster, now=now).filter(pk=delegation.pk).exists():
        raise DelegationRefused(_("This delegation is over already."))
    end = DelegationEnd.objects.create(delegation=delegation, by=by, at=now, reason=reason)
    _write("delegation_ended", delegation, by, reason, now)
    return end


def _check_times(starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    if not (is_storable(starts_at) and is_storable(ends_at)):
        raise DelegationRefused(_("Choose times from the year 2000 to the year 2199."))
    if ends_at <= starts_at or ends_at <= now:
        raise DelegationRefused(_("The delegation must end after its start, and later than now."))
    if ends_at - max(starts_at, now) > LONGEST:
        raise DelegationRefused(_("A delegation lasts at most 14 days; choose an earlier end."))


def _check_people(cluster: Cluster, role: str, giver: Any, receiver: Any, now: datetime) -> None:
    if role not in SIGNING_ROLES:
        raise DelegationRefused(_("Nobody signs in that role, so it cannot be delegated."))
    if giver.pk == receiver.pk:
        raise DelegationRefused(_("You cannot delegate to yourself."))
    held = held_since([giver.pk, receiver.pk], cluster)
    for person in (giver, receiver):
        if (person.pk, role) not in held:
            said = _("%(person)s is no %(role)s in this cluster; both people need the role itself.")
            raise MayNot(said % {"person": person, "role": Role(role).label})
    others = open_delegations(cluster, now=now).filter(role=role)
    if others.filter(receiver=giver).exists() or others.filter(giver=receiver).exists():
        raise DelegationRefused(_("One of you signs for somebody else already; a delegation is not handed on."))


def _write(what: str, given: Delegation, by: Any, reason: str, now: datetime) -> None:
    data = {
        "role": given.role, "giver": str(given.giver), "receiver": str(given.receiver), "starts_at": given.starts_at,
        "ends_at": given.ends_at, "run": given.run.slug if given.run else "",
    }  # fmt: skip
    target = f"{given.cluster.slug}/delegation/{given.pk}"
    write_entry(what=what, target=target, who=by, cluster=given.cluster, reason=reason, now=now, data=data)
