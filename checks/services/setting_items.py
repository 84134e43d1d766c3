"""Make a setting an item of a cluster: one person has it checked, and warned of; a second one lets it block."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.incidents.kinds import Relation
from checks.domain.setting_items import SETTINGS, item_key, read_settings
from checks.models import Cluster, Incident, SettingItem, SettingItemAct
from checks.selectors.runs import LEADING_ROLES
from checks.selectors.setting_items import open_settings
from checks.services.cluster_locks import lock_cluster
from checks.services.clusters import lock_rules, replace_overrides
from checks.services.incident_links import Linking, link_item
from checks.services.incident_records import Author
from checks.services.permissions import MayNot, require_reason, require_role
from checks.services.proofs import Proof, require_fresh
from checks.services.rejudge import rejudge_cluster


class SettingTaken(CountersignError):
    """The setting is an item of the cluster already, or is none any more."""

    code = "setting_settled"
    status = 409


def make_setting_item(
    *, cluster: Cluster, name: str, equals: str, by: Any, reason: str, now: datetime, escaped: Incident | None = None
) -> SettingItem:
    """Ask every node of *cluster* for the setting *name* with the value *equals* from the next tick on; it warns.

    *escaped* is an incident of the cluster that such an item should have caught; it is linked to it.

    Raises:
        MayNot: *by* neither leads nor administers the cluster, or *escaped* is another cluster's.
        ReasonMissing.
        InvalidOverride: no agent could read that, or the cluster asks for too many.
        SettingTaken: it is an item here already.
    """
    reason = require_reason(reason)
    if escaped is not None and escaped.cluster_id != cluster.pk:
        raise MayNot(_("That incident is another cluster's; make the setting an item there."))
    with transaction.atomic():
        cluster = _locked(cluster)
        require_role(by, cluster, LEADING_ROLES)
        read_settings({name: {"equals": equals}})
        if any(one.row.name == name for one in open_settings(cluster)):
            raise SettingTaken(_("%(name)s is an item of this cluster already.") % {"name": name})
        made = SettingItem.objects.create(cluster=cluster, name=name, equals=equals, by=by, at=now, reason=reason[:300])
        _put_in_force(cluster, by, reason, now)
    if escaped is not None:
        _link(escaped, made, by, now)
    rejudge_cluster(cluster=cluster, now=now)
    return made


def _link(escaped: Incident, made: SettingItem, by: Any, now: datetime) -> None:
    """An act of its own: it locks incidents, and the ledger is the last lock of the act before it."""
    linking = Linking(item_key(made.name), Relation.SHOULD_HAVE_CAUGHT, made.reason)
    link_item(incident=escaped, linking=linking, author=Author(by=by), now=now)


def accept_setting_item(*, item: SettingItem, by: Any, proof: Proof, now: datetime) -> SettingItemAct:
    """Let it block: a node without that value may not start from now on.

    Raises:
        ProofTooOld.
        MayNot: *by* made it an item, or neither leads nor administers the cluster.
        SettingTaken: it blocks already, or was ended.
    """
    require_fresh(proof, now=now)
    if item.by_id == by.pk:
        raise MayNot(_("You made it an item yourself: another lead or administrator has to accept that it blocks."))
    return _act(item, SettingItemAct.ACCEPTED, by, _("Setting %(name)s blocks.") % {"name": item.name}, now)


def end_setting_item(*, item: SettingItem, by: Any, reason: str, proof: Proof, now: datetime) -> SettingItemAct:
    """Ask no node for it any more.

    Raises:
        ProofTooOld, ReasonMissing.
        MayNot: *by* neither leads nor administers the cluster.
        SettingTaken: somebody ended it before.
    """
    require_fresh(proof, now=now)
    return _act(item, SettingItemAct.ENDED, by, require_reason(reason), now)


def _act(item: SettingItem, kind: str, by: Any, reason: str, now: datetime) -> SettingItemAct:
    with transaction.atomic():
        cluster = _locked(item.cluster)
        require_role(by, cluster, LEADING_ROLES)
        if SettingItemAct.objects.filter(item=item, kind__in=[kind, SettingItemAct.ENDED]).exists():
            raise SettingTaken(_("Somebody did that before you; look at the page again."))
        act = SettingItemAct.objects.create(item=item, kind=kind, by=by, at=now, reason=reason[:300])
        _put_in_force(cluster, by, reason, now)
    rejudge_cluster(cluster=cluster, now=now)
    return act


def _locked(cluster: Cluster) -> Cluster:
    lock_rules()
    return lock_cluster(cluster.pk)


def _put_in_force(cluster: Cluster, by: Any, reason: str, now: datetime) -> None:
    """Write the open settings into the cluster's overrides, whose change is in the ledger."""
    rest = {key: held for key, held in cluster.overrides.items() if key != SETTINGS}
    settings = {one.row.name: one.rule.as_json() for one in open_settings(cluster)}
    after = rest | ({SETTINGS: settings} if settings else {})
    replace_overrides(cluster=cluster, overrides=after, by=by, reason=reason, now=now)
