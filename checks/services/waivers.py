"""A failed item accepted on named nodes until a date: one person asks, another one of the layer agrees.

Nothing stores *waived*: it is a raw failure while a waiver is in force, and blocks again in the second it ends.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.items import Item
from checks.domain.verdicts import NODE_HELD, Layer, Verdict
from checks.domain.writing import is_storable
from checks.models import OVER, Node, NodeItemState, Role, Run, ScopeState, Waiver, WaiverApproval, WaiverEnd
from checks.selectors.nodesets import parse_node_set
from checks.selectors.policies import policy_in_force
from checks.selectors.roles import held_since
from checks.selectors.rules import ruleset_for
from checks.selectors.runs import LEADING_ROLES
from checks.selectors.shared_rows import subject_of
from checks.selectors.waivers import open_waivers
from checks.services.ledger import write_entry
from checks.services.permissions import MayNot, require_reason, require_role
from checks.services.proofs import Proof, require_fresh
from checks.services.runs import lock_run


class WaiverRefused(CountersignError):
    """The waiver cannot be as it was asked for; the sentence says what to change."""

    code = "waiver_refused"


@transaction.atomic
def ask_waiver(
    *,
    run: Run,
    item: str,
    nodes: str,
    until: datetime,
    by: Any,
    role: str,
    reason: str,
    proof: Proof,
    now: datetime,
) -> Waiver:
    """Ask to accept that *item* fails on *nodes* (a node set; empty for an item that is not a node's) until *until*.

    Nothing is accepted before a second person agrees. Only a failure can be accepted: what nobody knows, cannot.

    Raises:
        ProofTooOld, ReasonMissing, BadNodeSet.
        MayNot: *by* does not hold *role*, or the layer is not signed in it.
        WaiverRefused: the item does not fail there, or the end has passed.
    """
    require_fresh(proof, now=now)
    reason = require_reason(reason)
    run = lock_run(run)
    _require_open(run, until, now)
    described = _blocker(run, item)
    _require_signer(run, described.layer, role, by)
    uuids = _failing_nodes(run, described, nodes) if described.scope in NODE_HELD else _failing_row(run, described)
    waiver = Waiver.objects.create(
        run=run, layer=described.layer, item=item, nodes=uuids, reason=reason, until=until, asked_by=by,
        asked_role=role, asked_at=now,
    )  # fmt: skip
    _write("waiver_asked", waiver, by, reason, now)
    return waiver


@transaction.atomic
def approve_waiver(*, waiver: Waiver, by: Any, role: str, proof: Proof, now: datetime) -> WaiverApproval:
    """Agree to a waiver: from now on, until its end, the failure blocks nothing.

    Raises:
        ProofTooOld.
        MayNot: *by* asked for it, or does not hold *role*; or the layer has several roles and both are the same.
        WaiverRefused: it is in force already, was taken back, or is over.
    """
    require_fresh(proof, now=now)
    run = lock_run(waiver.run)
    _require_open(run, waiver.until, now)
    roles = _require_signer(run, waiver.layer, role, by)
    if waiver.asked_by_id == by.pk:
        raise MayNot(_("You asked for this waiver yourself; another person has to agree to it."))
    if len(roles) > 1 and role == waiver.asked_role:
        raise MayNot(_("It was asked for in that role; somebody in another role of the layer has to agree."))
    if not open_waivers(run, now=now).filter(pk=waiver.pk, approval=None).exists():
        raise WaiverRefused(_("This waiver is in force already, or was taken back."))
    approval = WaiverApproval.objects.create(waiver=waiver, by=by, role=role, at=now)
    _write("waiver_approved", waiver, by, "", now)
    return approval


@transaction.atomic
def end_waiver(*, waiver: Waiver, by: Any, reason: str, proof: Proof, now: datetime) -> WaiverEnd:
    """Take a waiver back, asked for or in force: the failure blocks again from this second on.

    Raises:
        ProofTooOld, ReasonMissing.
        MayNot: *by* neither asked for it, nor holds one of the layer's roles, nor leads the cluster.
        WaiverRefused: it is over already.
    """
    require_fresh(proof, now=now)
    reason = require_reason(reason)
    run = lock_run(waiver.run)
    if by.pk != waiver.asked_by_id:
        roles = policy_in_force(run.cluster).policy.layers[Layer(waiver.layer)].roles
        require_role(by, run.cluster, LEADING_ROLES | set(roles))
    if not open_waivers(run, now=now).filter(pk=waiver.pk).exists():
        raise WaiverRefused(_("This waiver is over already."))
    end = WaiverEnd.objects.create(waiver=waiver, by=by, at=now, reason=reason)
    _write("waiver_ended", waiver, by, reason, now)
    return end


def _require_open(run: Run, until: datetime, now: datetime) -> None:
    if run.stage in OVER:
        raise WaiverRefused(_("%(run)s is over; there is nothing to accept any more.") % {"run": run.slug})
    if until <= now:
        raise WaiverRefused(_("The waiver's end has passed; choose a later one."))
    if not is_storable(until):
        raise WaiverRefused(_("Choose times from the year 2000 to the year 2199."))


def _blocker(run: Run, key: str) -> Item:
    item = ruleset_for(run.cluster).items.get(key)
    if item is None or not item.blocks_gates:
        raise WaiverRefused(_("%(item)s closes no gate, so there is nothing to accept.") % {"item": key})
    return item


def _require_signer(run: Run, layer: str, role: str, by: Any) -> tuple[str, ...]:
    """The layer's roles, once *by* is found to hold *role*, which is one of them."""
    roles = policy_in_force(run.cluster).policy.layers[Layer(layer)].roles
    if role not in roles or (by.pk, role) not in held_since([by.pk], run.cluster):
        names = ", ".join(str(Role(one).label) for one in roles)
        said = _("A failure of this layer is accepted by two people who sign it: %(roles)s.")
        raise MayNot(said % {"roles": names})
    return roles


def _failing_nodes(run: Run, item: Item, nodes: str) -> list[str]:
    """Uuids of the named nodes of the pool, once the item is found to fail on each of them."""
    names = {name.lower() for name in parse_node_set(nodes)}
    if not names:
        raise WaiverRefused(_("Name the nodes on which %(item)s is accepted.") % {"item": item.key})
    found = {node.pk: node.hostname for node in Node.objects.filter(runs=run, hostname__in=names)}
    failing = NodeItemState.objects.filter(node__in=found, item=item.key, raw=Verdict.FAIL)
    fails = {found[key] for key in failing.values_list("node_id", flat=True)}
    if left := sorted(names - fails):
        said = _("%(item)s does not fail on %(nodes)s, or they are not in the pool; leave them out.")
        raise WaiverRefused(said % {"item": item.key, "nodes": ", ".join(left[:10])})
    return sorted(map(str, found))


def _failing_row(run: Run, item: Item) -> list[str]:
    rows = ScopeState.objects.filter(
        cluster=run.cluster, scope=item.scope, subject=subject_of(item.scope, run), item=item.key, raw=Verdict.FAIL
    )
    if not rows.exists():
        raise WaiverRefused(_("%(item)s does not fail now; there is nothing to accept.") % {"item": item.key})
    return []


def _write(what: str, waiver: Waiver, by: Any, reason: str, now: datetime) -> None:
    names = Node.objects.filter(pk__in=waiver.nodes).order_by("hostname").values_list("hostname", flat=True)
    data: dict[str, Sequence[str] | str | datetime | int] = {
        "waiver": waiver.pk, "item": waiver.item, "nodes": list(names), "until": waiver.until,
    }  # fmt: skip
    target = f"{waiver.run.slug}/{waiver.layer}/{waiver.item}"
    write_entry(what=what, target=target, who=by, cluster=waiver.run.cluster, reason=reason, now=now, data=data)
