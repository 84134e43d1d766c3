"""Another threshold for one fact of one item: proposed by one person, in shadow for a while, accepted by another."""

from datetime import datetime
from math import isfinite
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.incidents.backtest import movable
from checks.domain.items import Criterion
from checks.models import Cluster, ThresholdApproval, ThresholdProposal
from checks.selectors.incident_backtest import back_test, effect_of, open_proposals, overrides_with, shadow_of
from checks.selectors.pages_access import ACTING_ROLES, DECIDING_ROLES
from checks.selectors.rules import ruleset_for
from checks.services.cluster_locks import lock_cluster
from checks.services.clusters import lock_rules, store_overrides
from checks.services.ledger import write_entry
from checks.services.permissions import MayNot, require_reason, require_role
from checks.services.proofs import Proof, require_fresh
from checks.services.rejudge import rejudge_cluster


class ThresholdRefused(CountersignError):
    """No threshold of that item can be moved, or not there."""

    code = "threshold_refused"


class ThresholdSettled(CountersignError):
    """The proposal is in force already, or a newer one took its place."""

    code = "threshold_settled"
    status = 409


class ShadowTooShort(CountersignError):
    """Too little was measured since the threshold was proposed."""

    code = "shadow_too_short"
    status = 409


@transaction.atomic
def propose_threshold(
    *, cluster: Cluster, item: str, fact: str, threshold: float, by: Any, reason: str, proof: Proof, now: datetime
) -> ThresholdProposal:
    """Write down another threshold with its back-test. It judges nothing: it stands in shadow until it is accepted.

    Raises:
        ProofTooOld, MayNot, ReasonMissing.
        ThresholdRefused: the item has no such threshold, or that one is in force.
        InvalidOverride: the number fits nothing in the catalogue.
    """
    require_fresh(proof, now=now)
    cluster = lock_cluster(cluster.pk)
    require_role(by, cluster, ACTING_ROLES)
    criterion = _criterion(cluster, item, fact)
    if not isfinite(threshold) or threshold == criterion.threshold:
        raise ThresholdRefused(_("Propose a number other than the threshold in force."))
    found = back_test(cluster, item, criterion, now=now)
    before = float(criterion.threshold)  # type: ignore[arg-type]
    then, today = found.at(threshold), found.at(before)
    proposal = ThresholdProposal(
        cluster=cluster, item=item, fact=fact, before=before, threshold=float(threshold),
        proposed_by=by, proposed_at=now, reason=require_reason(reason),
        back_test={
            "good": found.good, "before": found.before, "false_alarms": then.false_alarms, "misses": then.misses,
            "false_alarms_now": today.false_alarms, "misses_now": today.misses,
        },
    )  # fmt: skip
    effect_of(cluster, proposal, now=now)  # refuses what the catalogue does not take
    proposal.save()
    _write("threshold_proposed", proposal, by, now, reason=proposal.reason, data={"back_test": proposal.back_test})
    return proposal


def accept_threshold(*, proposal: ThresholdProposal, by: Any, proof: Proof, now: datetime) -> ThresholdApproval:
    """Put a proposal in force, and judge the cluster's nodes by it at once.

    Raises:
        ProofTooOld.
        MayNot: *by* proposed it, or does not decide about machines; or who proposed it does not work there any more.
        ThresholdSettled: it is in force, or a newer proposal took its place.
        ShadowTooShort: fewer than half of the item's rows were measured since.
    """
    require_fresh(proof, now=now)
    approval = _put_in_force(proposal, by, now)
    rejudge_cluster(cluster=Cluster.objects.get(pk=proposal.cluster_id), now=now)
    return approval


@transaction.atomic
def _put_in_force(proposal: ThresholdProposal, by: Any, now: datetime) -> ThresholdApproval:
    lock_rules()
    cluster = lock_cluster(proposal.cluster_id)
    require_role(by, cluster, DECIDING_ROLES)
    if proposal.proposed_by_id == by.pk:
        raise MayNot(_("You proposed this threshold yourself; another person has to accept it."))
    require_role(proposal.proposed_by, cluster, ACTING_ROLES)
    if proposal.pk not in {one.pk for one in open_proposals(cluster, proposal.item)}:
        raise ThresholdSettled(_("This threshold is in force, or a newer proposal took its place; look at that one."))
    shadow = shadow_of(proposal, now=now)
    if not shadow.is_long_enough:
        said = _("%(measured)d of %(rows)d were measured since it was proposed; wait until half of them were.")
        raise ShadowTooShort(said % {"measured": shadow.measured, "rows": shadow.rows})
    approval = ThresholdApproval.objects.create(proposal=proposal, by=by, at=now)
    overrides = overrides_with(cluster, proposal)
    change = {"before": cluster.overrides, "after": overrides}
    store_overrides(cluster=cluster, overrides=overrides, by=proposal.proposed_by, reason=proposal.reason, now=now)
    _write("threshold_accepted", proposal, by, now, data=change)
    return approval


def _criterion(cluster: Cluster, item: str, fact: str) -> Criterion:
    rules = ruleset_for(cluster)
    held = rules.items.get(item)
    found = next((one for one in movable(held) if one.fact == fact), None) if held and rules.applies(item) else None
    if found is None:
        raise ThresholdRefused(_("%(item)s has no threshold that one number could replace.") % {"item": item})
    return found


def _write(
    what: str, proposal: ThresholdProposal, by: Any, now: datetime, *, reason: str = "", data: dict[str, Any]
) -> None:
    target = f"{proposal.cluster.slug}/{proposal.item}/{proposal.fact}"
    told = {"proposal": proposal.pk, "threshold": proposal.threshold, "was": proposal.before} | data
    write_entry(what=what, target=target, who=by, cluster=proposal.cluster, reason=reason, now=now, data=told)
