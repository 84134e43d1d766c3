"""Who had a hand in what a package holds, and so cannot sign it unless the policy lets contributors sign.

Whoever stated a result that stands in it now; and, since the layer was last signed completely in the cluster, whoever
edited its thresholds, changed what its nodes are judged as, took a part of a node out of the checks, or uploaded what
a tool measured on one of them.

*Since* goes by the ledger's numbers: an act that waited for locks has a time from before it took effect.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db import connection

from checks.domain.policy import Policy
from checks.domain.profiles import Ruleset
from checks.domain.setting_items import SETTINGS
from checks.domain.verdicts import NODE_HELD, Layer
from checks.models import Attestation, LedgerEntry, Run
from checks.selectors.pool_rows import PoolNode
from checks.selectors.rules import ruleset_for
from checks.selectors.shared_rows import subject_of

#: Acts of the ledger that lend a hand to what is signed.
EDITS: Final = (
    "overrides_changed", "threshold_accepted", "profile_changed", "node_profile_changed", "subject_retired",
    "training_env_changed", "evidence_uploaded",
)  # fmt: skip
#: Roles that signed the same digest in one round, in any run of the cluster, and the ledger's number of the last.
ROUNDS: Final = """
    SELECT p.layer, array_agg(DISTINCT s.role) AS roles, max(l.seq) AS seq
    FROM checks_signature s JOIN checks_signoffpackage p ON p.id = s.package_id
    JOIN checks_run every ON every.id = p.run_id AND every.cluster_id = %(cluster)s
    JOIN checks_ledgerentry l ON l.cluster_id = %(cluster)s AND l.what = 'signed'
        AND (l.data ->> 'signature')::bigint = s.id
    GROUP BY p.layer, s.package_id, s.round, s.manifest_id
"""
_NAMED: Final = "thresholds"


@dataclass(frozen=True, slots=True)
class Contribution:
    """What somebody did to what would be signed: ``attested`` an item, or one of the ledger's acts."""

    what: str
    target: str
    at: datetime


#: Person -> what they did.
Contributors = Mapping[int, tuple[Contribution, ...]]


class Stated(NamedTuple):
    """The newest statement about a row that holds still; *node* is a uuid, None where no node holds the row."""

    node: str | None
    item: str
    subject: str
    by: int
    at: datetime


class Round(NamedTuple):
    """Roles that signed a layer together; *seq* is the ledger's number of the last signature."""

    layer: Layer
    roles: Sequence[str]
    seq: int


@dataclass(frozen=True, slots=True)
class Acts:
    """What people did in a cluster, as far as it may lend a hand to a run's packages; edits in the ledger's order."""

    stated: Iterable[Stated]
    rounds: Iterable[Round]
    edits: Iterable[LedgerEntry]


def contributors_of(
    run: Run, nodes: Collection[PoolNode], policy: Policy, *, now: datetime
) -> dict[Layer, Contributors]:
    """Contributors of all layers, in three statements."""
    acts = Acts(_stated(run, now), _rounds(run), _edits(run))
    return hands_of(acts, run, nodes, policy, ruleset_for(run.cluster))


def hands_of(
    acts: Acts, run: Run, nodes: Collection[PoolNode], policy: Policy, ruleset: Ruleset
) -> dict[Layer, Contributors]:
    """Contributors of all layers, from what people did."""
    found: dict[Layer, dict[int, list[Contribution]]] = {layer: defaultdict(list) for layer in Layer}
    uuids, names = {node.uuid for node in nodes}, {node.hostname for node in nodes}
    for one in acts.stated:
        item = ruleset.items.get(one.item)
        if item and (one.node in uuids if item.scope in NODE_HELD else one.subject == subject_of(item.scope, run)):
            found[item.layer][one.by].append(Contribution("attested", one.item, one.at))
    since = _last_complete(acts.rounds, policy)
    for entry in acts.edits:
        for layer in _layers_touched(entry, run, names, ruleset):
            if entry.seq > since[layer]:
                found[layer][entry.who_id or 0].append(Contribution(entry.what, entry.target, entry.at))
    return {layer: {who: tuple(acts) for who, acts in people.items()} for layer, people in found.items()}


def _stated(run: Run, now: datetime) -> Iterator[Stated]:
    """Statements that hold at *now*, for whatever run they were made: a dataset is the same one in all that use it."""
    mine = Attestation.objects.filter(cluster_id=run.cluster_id, valid_until__gte=now)
    newest = mine.order_by("node_id", "item", "subject", "-id").distinct("node_id", "item", "subject")
    for node, item, subject, by, at in newest.values_list("node_id", "item", "subject", "by_id", "at"):
        yield Stated(str(node) if node else None, item, subject, by, at)


def _rounds(run: Run) -> list[Round]:
    with connection.cursor() as cursor:
        cursor.execute(ROUNDS, {"cluster": run.cluster_id})
        return [Round(Layer(layer), roles, seq) for layer, roles, seq in cursor.fetchall()]


def _edits(run: Run) -> Iterable[LedgerEntry]:
    return LedgerEntry.objects.filter(cluster_id=run.cluster_id, what__in=EDITS, who__isnull=False).order_by("seq")


def _last_complete(rounds: Iterable[Round], policy: Policy) -> dict[Layer, int]:
    """The ledger's number at which each layer was last signed in all of its roles."""
    since = dict.fromkeys(Layer, 0)
    for one in rounds:
        if set(policy.layers[one.layer].roles) <= set(one.roles):
            since[one.layer] = max(since[one.layer], one.seq)
    return since


def _layers_touched(entry: LedgerEntry, run: Run, names: Collection[str], ruleset: Ruleset) -> Collection[Layer]:
    """The layers whose package an act touched."""
    if entry.what in ("overrides_changed", "threshold_accepted"):
        return _layers_of_overrides(entry.data, ruleset)
    if entry.what == "training_env_changed":
        return (Layer.FRAMEWORK,)
    if entry.what == "evidence_uploaded":
        told = entry.data.get("verdicts", {}) if entry.target in names else {}
        return {ruleset.items[key].layer for key in told if key in ruleset.items}
    if entry.what == "profile_changed" or entry.target.removeprefix(f"{run.cluster.slug}/") in names:
        return tuple(Layer)
    return ()


def _layers_of_overrides(data: Mapping[str, Any], ruleset: Ruleset) -> Collection[Layer]:
    """Layers of the items whose thresholds differ; a threshold with a name may serve items of any layer."""
    before, after = data.get("before", {}), data.get("after", {})
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    if _NAMED in changed:
        return tuple(Layer)
    own = {Layer.SYSTEM} if SETTINGS in changed else set()
    return own | {ruleset.items[key].layer for key in changed if key in ruleset.items}
