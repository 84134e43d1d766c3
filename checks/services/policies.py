"""A cluster's sign-off policy: one person proposes it, another one puts it in force; both lead the cluster."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.policy import Policy
from checks.models import Cluster, PolicyApproval, PolicyVersion
from checks.selectors.policies import policy_in_force
from checks.selectors.runs import LEADING_ROLES
from checks.services.cluster_locks import lock_cluster
from checks.services.ledger import write_entry
from checks.services.permissions import MayNot, require_reason, require_role
from checks.services.proofs import Proof, require_fresh


class PolicySettled(CountersignError):
    """The proposal is in force already, or a newer one is."""

    code = "policy_settled"
    status = 409


@transaction.atomic
def propose_policy(
    *, cluster: Cluster, document: Mapping[str, object], by: Any, reason: str, proof: Proof, now: datetime
) -> PolicyVersion:
    """Write down who is to sign what from now on; nothing changes until a second person approves it.

    Raises:
        ProofTooOld, MayNot, ReasonMissing.
        InvalidPolicy: the document leaves a layer open, or relaxes what no policy may.
    """
    require_fresh(proof, now=now)
    cluster = lock_cluster(cluster.pk)
    require_role(by, cluster, LEADING_ROLES)
    policy = Policy.read(document)
    newest = PolicyVersion.objects.filter(cluster=cluster).aggregate(newest=Max("number"))["newest"]
    proposal = PolicyVersion.objects.create(
        cluster=cluster, number=(newest or 0) + 1, document=policy.as_json(), proposed_by=by, proposed_at=now,
        reason=require_reason(reason),
    )  # fmt: skip
    _write("policy_proposed", proposal, by, reason, now)
    return proposal


@transaction.atomic
def approve_policy(*, policy: PolicyVersion, by: Any, proof: Proof, now: datetime) -> PolicyApproval:
    """Put a proposal in force. What was signed under another policy is outdated by that, at once and by its digest.

    Raises:
        ProofTooOld.
        MayNot: *by* proposed it, or does not lead the cluster; or who proposed it does not any more.
        PolicySettled: it is approved already, or older than the policy in force.
    """
    require_fresh(proof, now=now)
    cluster = lock_cluster(policy.cluster_id)
    require_role(by, cluster, LEADING_ROLES)
    if policy.proposed_by_id == by.pk:
        raise MayNot(_("You proposed this policy yourself; another lead or administrator has to approve it."))
    require_role(policy.proposed_by, cluster, LEADING_ROLES)
    if policy.number <= policy_in_force(cluster).number:
        raise PolicySettled(_("This policy or a newer one is in force; propose it again as a new one."))
    approval = PolicyApproval.objects.create(policy=policy, by=by, at=now)
    _write("policy_approved", policy, by, "", now)
    return approval


def _write(what: str, policy: PolicyVersion, by: Any, reason: str, now: datetime) -> None:
    target = f"{policy.cluster.slug}/policy/{policy.number}"
    data = {"number": policy.number, "policy": policy.document, "digest": Policy.read(policy.document).digest}
    write_entry(what=what, target=target, who=by, cluster=policy.cluster, reason=reason, now=now, data=data)
