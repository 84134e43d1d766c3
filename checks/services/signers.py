"""Whether one person may fill one slot of a package now; each refusal is a sentence that says why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from checks.models import OVER, Delegation, Membership, Role, Run, Signature
from checks.selectors.delegations import is_in_force
from checks.selectors.packages import PackageView, RunState
from checks.selectors.roles import held_since
from checks.services.refusals import AlreadySigned, MayNotSign


@dataclass(frozen=True, slots=True)
class Signer:
    """Somebody who may sign in that role now. ``contributor``: only because the policy lets contributors sign."""

    person: Any
    role: str
    role_granted_at: datetime
    delegation: Delegation | None
    contributor: bool


def find_signer(state: RunState, view: PackageView, *, by: Any, role: str, delegation: Delegation | None) -> Signer:
    """*by* as the signer of that slot of *view*.

    Raises:
        MayNotSign: the sentence says why not.
        AlreadySigned: the slot is filled, and what fills it counts.
    """
    run = state.run
    if run.stage in OVER or run.cluster.closed_at is not None:
        raise MayNotSign(_("%(run)s is over; there is nothing to sign any more.") % {"run": run.slug})
    if role not in view.policy.roles:
        said = _("The policy asks for %(roles)s to sign this layer, and for nobody else.")
        raise MayNotSign(said % {"roles": ", ".join(_label(one) for one in view.policy.roles)})
    granted_at = _held(run, by, role)
    delegation = _checked(state, by, role, delegation)
    standing = _standing(state, view)
    _require_free(standing, role)
    _require_another_person(standing, by, delegation)
    acts = state.contributors[view.layer].get(by.pk, ())
    if acts and not view.policy.contributors_may_sign:
        said = _("You had a hand in what would be signed (%(act)s, %(at)s), so another person has to sign it.")
        raise MayNotSign(
            said % {"act": f"{acts[-1].what} {acts[-1].target}", "at": f"{acts[-1].at:%Y-%m-%d %H:%M} UTC"}
        )
    return Signer(by, role, granted_at, delegation, contributor=bool(acts))


def _held(run: Run, by: Any, role: str) -> datetime:
    """Since when *by* holds the role; it is held on to until the signature is stored, or was ended before it."""
    locked = Membership.objects.select_for_update(no_key=True, of=("self",)).select_related("user")
    found = locked.filter(user_id=by.pk, cluster=run.cluster, role=role).first()
    if found is None or not found.user.is_active:
        said = _("You are no %(role)s in %(cluster)s now; ask an administrator for the role.")
        raise MayNotSign(said % {"role": _label(role), "cluster": run.cluster.slug})
    return found.granted_at


def _checked(state: RunState, by: Any, role: str, delegation: Delegation | None) -> Delegation | None:
    """The delegation as it is stored now."""
    if delegation is None:
        return None
    run = state.run
    found = Delegation.objects.select_related("giver", "end").get(pk=delegation.pk)
    fits = (
        found.receiver_id == by.pk and found.role == role and found.cluster_id == run.cluster_id
        and found.run_id in (None, run.pk) and is_in_force(found, now=state.now)
    )  # fmt: skip
    if not fits:
        raise MayNotSign(_("That delegation does not let you sign this layer in this role now."))
    if (found.giver_id, role) not in held_since([found.giver_id], run.cluster):
        said = _("%(giver)s does not hold the role any more, so nobody signs for them.")
        raise MayNotSign(said % {"giver": found.giver})
    return found


def _standing(state: RunState, view: PackageView) -> Sequence[Signature]:
    """The signatures beside which the new one would stand; none where it opens a round."""
    if view.state.digest != view.package.digest:
        return ()
    return [one for one in state.signatures[view.layer] if one.pk in view.state.counting]


def _require_free(standing: Sequence[Signature], role: str) -> None:
    for one in standing:
        if one.role == role:
            said = _("%(person)s has signed as %(role)s already, and it counts.")
            raise AlreadySigned(said % {"person": one.printed_name, "role": _label(role)})


def _require_another_person(standing: Sequence[Signature], by: Any, delegation: Delegation | None) -> None:
    """No person stands behind two slots, neither by their own hand nor by a delegation."""
    mine = {by.pk} | ({delegation.giver_id} if delegation else set())
    for one in standing:
        if mine & ({one.signer_id} | ({one.delegation.giver_id} if one.delegation else set())):
            said = _("The slot %(role)s was signed by you or for you; this one needs another person.")
            raise MayNotSign(said % {"role": _label(one.role)})


def _label(role: str) -> str:
    return str(Role(role).label)
