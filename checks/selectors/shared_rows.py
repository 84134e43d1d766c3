"""What a run needs and no node holds: rows of its cluster, its links, itself, its artefacts and its dataset.

The rules of the cluster say which rows must be there; one that is missing was never measured, and blocks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from checks.domain.freshness import is_stale, valid_until
from checks.domain.items import Item
from checks.domain.launch_facts import SharedFacts, SharedRow
from checks.domain.looking import BadRow
from checks.domain.manifest import Leaf, has_leaf
from checks.domain.package import WaiverFacts
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import NODE_HELD, Cadence, Layer, Reason, Scope, Verdict
from checks.models import Run, ScopeState
from checks.selectors.blockers import SignBlocker
from checks.selectors.rules import ruleset_for

_SELF_RENEWING = frozenset({Cadence.TICK, Cadence.DAILY})


@dataclass(frozen=True, slots=True)
class SharedItem:
    """One row that the rules expect, and what is stored of it; None where nobody ever measured it."""

    item: Item
    subject: str
    row: ScopeState | None

    @property
    def leaf(self) -> Leaf | None:
        """What is signed of it; nothing before it first settled."""
        if self.row is None or not self.row.settled:
            return None
        return Leaf(self.item, self.subject, Verdict(self.row.settled), self.row.identity, self.row.epoch)

    def ends(self, interval: timedelta) -> datetime | None:
        """When its evidence ends; None where it does not, or where there is none."""
        if self.row is None or self.row.observed_at is None:
            return None
        return self.row.valid_until or valid_until(self.row.observed_at, self.item.cadence, interval, self.item)

    @property
    def renews_itself(self) -> bool:
        """Whether new evidence comes without anybody's doing."""
        return self.item.cadence in _SELF_RENEWING


def subject_of(scope: Scope, run: Run) -> str:
    """Which row of an item of *scope* is this run's: a cluster has one, a dataset is known by its own name.

    Links and artefacts are those of one run: its pool and its configuration decide which they are.
    """
    if scope is Scope.CLUSTER:
        return ""
    return run.dataset if scope is Scope.DATASET else run.slug


def shared_items(ruleset: Ruleset) -> Iterator[Item]:
    """Blockers that apply, and that no node holds."""
    for key in sorted(ruleset.applicable):
        item = ruleset.items[key]
        if item.scope not in NODE_HELD and has_leaf(item):
            yield item


def shared_rows(run: Run) -> tuple[SharedItem, ...]:
    """Every row that the run needs and no node holds, in one statement."""
    expected = {(item.key, subject_of(item.scope, run)): item for item in shared_items(ruleset_for(run.cluster))}
    mine = Q(scope=Scope.CLUSTER, subject="") | Q(scope=Scope.DATASET, subject=run.dataset)
    mine |= Q(scope__in=[Scope.RUN, Scope.LINK, Scope.ARTEFACT], subject=run.slug)
    items = {key for key, _ in expected}
    stored = ScopeState.objects.filter(mine, cluster_id=run.cluster_id, item__in=items)
    rows = {(row.item, row.subject): row for row in stored}
    return tuple(SharedItem(item, key[1], rows.get(key)) for key, item in expected.items())


def shared_facts(rows: Iterable[SharedItem], interval: timedelta) -> SharedFacts:
    """What is not a node's, as the gate reads it; a row of another version of its item counts as being judged again."""
    every = [*rows]
    return SharedFacts(
        expected=[one.item for one in every],
        rows=[_fact(one, one.row, interval) for one in every if one.row is not None],
    )


def shared_blockers(
    rows: Iterable[SharedItem], layer: Layer, waivers: Iterable[WaiverFacts], *, interval: timedelta, now: datetime
) -> Iterator[SignBlocker]:
    """What keeps the shared branch of *layer* from being signed at *now*."""
    accepted = {waiver.item for waiver in waivers if not waiver.nodes}
    for shared in rows:
        if shared.item.layer is layer and (code := _code(shared, accepted, interval, now)):
            detail = shared.row.detail if shared.row else ""
            yield SignBlocker("", shared.item.key, shared.subject, code, detail=detail)


def _code(shared: SharedItem, accepted: set[str], interval: timedelta, now: datetime) -> str:
    row = shared.row
    if row is None:
        return Reason.NEVER_MEASURED
    if row.item_version != shared.item.version:
        return Reason.REJUDGING
    if is_stale(shared.ends(interval), now):
        return Reason.STALE
    if row.raw == Verdict.UNKNOWN:
        return row.reason or Reason.NOT_MEASURED
    if not row.settled or row.pending or (row.raw == Verdict.FAIL) != (row.settled == Verdict.FAIL):
        return Reason.UNSETTLED
    if row.settled == Verdict.FAIL and row.item not in accepted:
        return row.reason or Reason.CRITERION
    return ""


def _fact(one: SharedItem, row: ScopeState, interval: timedelta) -> SharedRow:
    outdated = row.item_version != one.item.version
    verdict = Verdict.UNKNOWN if outdated else Verdict(row.raw)
    return SharedRow(
        BadRow(
            node="", layer=one.item.layer, item=one.item.key, subject=one.subject, verdict=verdict,
            reason=Reason.REJUDGING if outdated else Reason(row.reason or Reason.NOT_MEASURED),
            cadence=one.item.cadence, observed_at=row.observed_at, until=one.ends(interval),
            value=row.detail or None, remedy=one.item.en.remedy, owner=one.item.owner,
        ),
        unsettled=not row.settled or bool(row.pending),
    )  # fmt: skip
