"""Who had a hand in what a package holds, and so cannot sign it unless the policy lets contributors sign.

Whoever stated a result that stands in it now; and, since the layer was last signed completely in the cluster, whoever
edited its thresholds, changed what its nodes are judged as, or took a part of a node out of the checks.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Max

from checks.domain.policy import Policy
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import NODE_HELD, Layer
from checks.models import Attestation, LedgerEntry, Run, Signature
from checks.selectors.pool_rows import PoolNode
from checks.selectors.rules import ruleset_for
from checks.selectors.shared_rows import subject_of

_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Acts of the ledger that lend a hand to what is signed.
EDITS: Final = ("overrides_changed", "profile_changed", "node_profile_changed", "subject_retired")
_NAMED: Final = "thresholds"


@dataclass(frozen=True, slots=True)
class Contribution:
    """What somebody did to what would be signed: ``attested`` an item, or one of the ledger's acts."""

    what: str
    target: str
    at: datetime


#: Person -> what they did.
Contributors = Mapping[int, tuple[Contribution, ...]]


def contributors_of(
    run: Run, nodes: Collection[PoolNode], policy: Policy, *, now: datetime
) -> dict[Layer, Contributors]:
    """Contributors of all layers, in three statements."""
    ruleset = ruleset_for(run.cluster)
    found: dict[Layer, dict[int, list[Contribution]]] = {layer: defaultdict(list) for layer in Layer}
    for layer, person, contribution in _attested(run, nodes, ruleset, now):
        found[layer][person].append(contribution)
    since = _last_complete(run, policy)
    names = {node.hostname for node in nodes}
    for entry in _edits(run, min(since.values())):
        for layer in layers_touched(entry, run, names, ruleset):
            if entry.at > since[layer]:
                found[layer][entry.who_id or 0].append(Contribution(entry.what, entry.target, entry.at))
    return {layer: {who: tuple(acts) for who, acts in people.items()} for layer, people in found.items()}


def _attested(
    run: Run, nodes: Collection[PoolNode], ruleset: Ruleset, now: datetime
) -> Iterator[tuple[Layer, int, Contribution]]:
    """The newest statement about each row of the package, while it holds; for whatever run it was made.

    A dataset, or a node, is the same one in every run that uses it.
    """
    mine = Attestation.objects.filter(cluster_id=run.cluster_id, valid_until__gte=now).order_by("-id")
    seen: set[tuple[Any, ...]] = set()
    uuids = {node.uuid for node in nodes}
    for one in mine:
        key, item = (one.node_id, one.item, one.subject), ruleset.items.get(one.item)
        if item is None or key in seen:
            continue
        seen.add(key)
        if str(one.node_id) in uuids if item.scope in NODE_HELD else one.subject == subject_of(item.scope, run):
            yield item.layer, one.by_id, Contribution("attested", one.item, one.at)


def _last_complete(run: Run, policy: Policy) -> dict[Layer, datetime]:
    """When each layer was last signed in all of its roles, in any run of the cluster."""
    rounds = (
        Signature.objects.filter(package__run__cluster_id=run.cluster_id)
        .order_by()
        .values("package__layer", "package_id", "round", "manifest_id")
        .annotate(roles=ArrayAgg("role", distinct=True), at=Max("signed_at"))
    )
    since = dict.fromkeys(Layer, _NEVER)
    for one in rounds:
        layer = Layer(one["package__layer"])
        if set(policy.layers[layer].roles) <= set(one["roles"]):
            since[layer] = max(since[layer], one["at"])
    return since


def _edits(run: Run, since: datetime) -> Iterable[LedgerEntry]:
    acts = LedgerEntry.objects.filter(cluster_id=run.cluster_id, what__in=EDITS, at__gt=since, who__isnull=False)
    return acts.order_by("seq")


def layers_touched(entry: LedgerEntry, run: Run, names: Collection[str], ruleset: Ruleset) -> Collection[Layer]:
    """The layers whose package an act touched."""
    if entry.what == "overrides_changed":
        return _layers_of_overrides(entry.data, ruleset)
    if entry.what == "profile_changed" or entry.target.removeprefix(f"{run.cluster.slug}/") in names:
        return tuple(Layer)
    return ()


def _layers_of_overrides(data: Mapping[str, Any], ruleset: Ruleset) -> Collection[Layer]:
    """Layers of the items whose thresholds differ; a threshold with a name may serve items of any layer."""
    before, after = data.get("before", {}), data.get("after", {})
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    if _NAMED in changed:
        return tuple(Layer)
    return {ruleset.items[key].layer for key in changed if key in ruleset.items}
