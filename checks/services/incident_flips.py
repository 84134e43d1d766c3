"""An item that settles as failed on a node of a cleared or running run opens an incident; no report waits for it.

What fails on one node at a time is one incident of that node; what fails on very many nodes at once is one incident of
the check (`checks.domain.breaker`), which takes in those that were opened before the breaker tripped.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet

from checks.domain.breaker import SPAN
from checks.domain.errors import CountersignError
from checks.domain.incidents.kinds import Opener, Relation, Standing, Weight, component_of
from checks.domain.items import Item
from checks.domain.verdicts import Verdict
from checks.domain.writing import as_line
from checks.models import (
    BreakerTrip,
    Cluster,
    Flip,
    Incident,
    IncidentEvent,
    Node,
    NodeItemState,
    NoticeMark,
    Run,
    RunNode,
    Stage,
)
from checks.selectors.rules import ruleset_for
from checks.services.incident_links import Linking
from checks.services.incident_opening import Opening, Sign, open_incident, survivor_of
from checks.services.incident_records import PORTAL, Touched, lock_incidents, write_act
from checks.services.incident_telling import listed, with_note
from checks.services.incidents import absorb

log = structlog.get_logger(__name__)

# A report that was being written while the last look was taken; what was seen then has its key.
_OVERLAP: Final = timedelta(minutes=2)
#: Further back nobody looks, however long the worker was away: that night is over.
FURTHEST: Final = timedelta(hours=24)
_LONGEST_WHY: Final = 500


@dataclass(frozen=True, slots=True)
class _Failure:
    """An item that settled as failed on a node of a run."""

    flip: Flip
    node: Node
    run: Run
    item: Item

    @property
    def key(self) -> str:
        """What keeps it from counting twice."""
        return f"{Opener.FLIP.value}:{self.flip.pk}"

    @property
    def says(self) -> str:
        """In a line; subject and detail are the words of an agent, in which anything may stand."""
        return as_line(f"{self.item.key} {self.flip.subject}: {self.flip.detail}".replace(" :", ":"))[:_LONGEST_WHY]


def open_for_flips(*, now: datetime) -> int:
    """Open what has to be opened in every cluster; returns how many incidents are new. Twice does what once does."""
    opened = 0
    for cluster in Cluster.objects.filter(closed_at=None):
        with _others_go_on(cluster):
            opened += _watch(cluster, now)
    return opened


@contextmanager
def _others_go_on(cluster: Cluster, about: str = "") -> Iterator[None]:
    """What is refused is logged: a trouble that cannot be kept must keep no other from being told."""
    try:
        yield
    except CountersignError as refused:
        log.exception("incident.refused", cluster=cluster.slug, about=about, code=refused.code)


def _watch(cluster: Cluster, now: datetime) -> int:
    name = f"incident-flips:{cluster.pk}"
    mark, _new = NoticeMark.objects.get_or_create(pk=name, defaults={"at": now - SPAN})
    failures = _failures(cluster, max(mark.at - _OVERLAP, now - FURTHEST), now)
    recent = BreakerTrip.objects.filter(Q(ended_at=None) | Q(ended_at__gt=now - FURTHEST), cluster=cluster)
    trips = {trip.pk: trip for trip in recent.order_by("tripped_at", "pk")}
    of_trips, of_nodes = _sorted(failures, trips.values())
    opened = 0
    for pk, found in of_trips.items():
        with _others_go_on(cluster, trips[pk].item):
            opened += _open_for_trip(trips[pk], found, now)
    for found in of_nodes.values():
        with _others_go_on(cluster, found[0].node.hostname):
            opened += _open_for_node(cluster, found, now)
    for trip in trips.values():
        with _others_go_on(cluster, trip.item):
            _gather(trip, now)
    NoticeMark.objects.filter(pk=name, at__lt=now).update(at=now)
    return opened


def _sorted(
    failures: Iterable[_Failure], trips: Collection[BreakerTrip]
) -> tuple[dict[int, list[_Failure]], dict[UUID, list[_Failure]]]:
    """Failures by the breaker that speaks of them, the older one where two do; the others by their node."""
    of_trips: dict[int, list[_Failure]] = defaultdict(list)
    of_nodes: dict[UUID, list[_Failure]] = defaultdict(list)
    for one in failures:
        trip = next((trip for trip in trips if _belongs(one.flip, trip)), None)
        if trip is not None:
            of_trips[trip.pk].append(one)
        else:
            of_nodes[one.node.pk].append(one)
    return of_trips, of_nodes


def _failures(cluster: Cluster, after: datetime, now: datetime) -> list[_Failure]:
    """Blockers that settled as failed in that time on nodes of cleared and running runs, oldest first."""
    runs = _live(cluster)
    if not runs:
        return []
    flips = Flip.objects.filter(cluster=cluster, at__gt=after, at__lte=now, settled=Verdict.FAIL, node__in=runs)
    rules, found = ruleset_for(cluster), flips.exclude(settled_before=Verdict.FAIL).select_related("node")
    return [
        _Failure(flip, flip.node, runs[flip.node_id], rules.items[flip.item])
        for flip in found.order_by("at", "pk")
        if flip.item in rules.items and rules.items[flip.item].blocks_gates
    ]


def _live(cluster: Cluster) -> Mapping[UUID, Run]:
    """Nodes of pools by the run that they belong to; one that runs before one that is about to."""
    pools = RunNode.objects.filter(run__cluster=cluster, run__stage__in=(Stage.CLEARED, Stage.RUNNING))
    ordered = pools.select_related("run").order_by("run__stage", "run_id")  # "cleared" < "running": the latter stays
    return {one.node_id: one.run for one in ordered}


def _belongs(flip: Flip, trip: BreakerTrip) -> bool:
    """Whether a failure is one of those that the breaker speaks of."""
    over = trip.ended_at is not None and flip.at > trip.ended_at
    return flip.item == trip.item and flip.at >= trip.tripped_at - SPAN and not over


@transaction.atomic
def _open_for_node(cluster: Cluster, failures: Sequence[_Failure], now: datetime) -> bool:
    """What failed on one node since the last look is one trouble, and joins the one that is open there."""
    lock_incidents(cluster)
    new = _unseen(cluster, failures)
    if not new:
        return False
    first, (parts, note) = new[0], _parts(new)
    title = f"{first.item.en.title}: fails on {first.node.hostname}"
    mine = Incident.objects.filter(cluster=cluster, source=Opener.FLIP, standing=Standing.OPEN, run=first.run)
    opened = open_incident(
        cluster=cluster, opening=_opening(title, first.item.key, new, Relation.CAUGHT, parts),
        source=Opener.FLIP.value, author=PORTAL, now=now,
        external_id=str(first.flip.pk), text=with_note(first.says, note),
        same_as=mine.filter(touched__node=first.node).select_related("cluster", "run").first(),
    )  # fmt: skip
    return opened.outcome == "opened"


@transaction.atomic
def _open_for_trip(trip: BreakerTrip, failures: Sequence[_Failure], now: datetime) -> bool:
    """All nodes of a breaker are one incident, in which the item itself is in doubt."""
    lock_incidents(trip.cluster)
    new = _unseen(trip.cluster, failures)
    if not new:
        return False
    first, (parts, note) = new[0], _parts(new)
    title = f"{first.item.en.title}: fails on {trip.nodes} of {trip.of_nodes} nodes at once"
    known = _incident_of(trip)
    opened = open_incident(
        cluster=trip.cluster, opening=_opening(title, _class(trip), new, Relation.RELATED, parts),
        source=Opener.FLIP.value if known else Opener.BREAKER.value, author=PORTAL, now=now,
        external_id=str(first.flip.pk), text=with_note(first.says, note), same_as=known,
    )  # fmt: skip
    return opened.outcome == "opened"


@transaction.atomic
def _gather(trip: BreakerTrip, now: datetime) -> None:
    """Take in the incidents of single nodes that were opened before the breaker tripped.

    Only into one that is open: what still fails would not be seen in another.
    """
    lock_incidents(trip.cluster)
    found = _incident_of(trip)
    if found is None or found.standing != Standing.OPEN:
        return
    taken = list(_singles(trip).exclude(pk=found.pk))
    for one in taken:
        absorb(one, found, author=PORTAL, now=now, text="")
    for one in taken:
        write_act("incident_merged", one, author=PORTAL, now=now, data={"into": str(found)})


def _singles(trip: BreakerTrip) -> QuerySet[Incident]:
    """Open incidents of single nodes from the time that the breaker speaks of; what fails later is their own."""
    single = Incident.objects.filter(
        cluster=trip.cluster, source=Opener.FLIP, error_class=trip.item, standing=Standing.OPEN,
        detected_at__gte=trip.tripped_at - SPAN,
    )  # fmt: skip
    of_its_time = single if trip.ended_at is None else single.filter(detected_at__lte=trip.ended_at)
    return of_its_time.select_related("cluster", "run")


def _incident_of(trip: BreakerTrip) -> Incident | None:
    """The incident of the breaker, or the one that a person merged it into."""
    mine = Incident.objects.filter(cluster=trip.cluster, source=Opener.BREAKER, error_class=_class(trip))
    found = mine.select_related("cluster", "run", "merged_into__cluster", "merged_into__run").first()
    return survivor_of(found) if found is not None else None


def _class(trip: BreakerTrip) -> str:
    return f"{trip.item} breaker {trip.pk}"


def _parts(found: Sequence[_Failure]) -> tuple[tuple[Touched, ...], str]:
    return listed(Touched(one.node.hostname, one.flip.subject) for one in found)


def _opening(
    title: str, error_class: str, found: Sequence[_Failure], relation: Relation, parts: tuple[Touched, ...]
) -> Opening:
    """What failed, told by its first; the others are further signs of it."""
    first, *rest = found
    items = {one.item.key: one for one in reversed(found)}
    links = (Linking(one.item.key, relation, one.says, _evidence(one)) for one in items.values())
    return Opening(
        title=title[:200], weight=Weight.MAJOR if first.run.stage == Stage.RUNNING else Weight.MINOR,
        component=component_of(first.item.key, first.item.layer),
        started_at=min(first.flip.observed_at or first.flip.at, first.flip.at), detected_at=first.flip.at,
        error_class=error_class, run=first.run, touched=parts,
        links=tuple(links), signs=tuple(Sign(one.flip.at, one.says, one.key) for one in rest),
    )  # fmt: skip


def _evidence(failure: _Failure) -> str:
    """The digest of what the row was judged by, as long as it is that very row."""
    flip = failure.flip
    rows = NodeItemState.objects.filter(node=flip.node, item=flip.item, subject=flip.subject, raw=Verdict.FAIL)
    return rows.values_list("evidence", flat=True).first() or ""


def _unseen(cluster: Cluster, failures: Sequence[_Failure]) -> list[_Failure]:
    """Failures that no timeline tells of yet; asked under the lock, so that two looks at once tell each once."""
    keys = [key for one in failures for key in _keys(one)]
    seen = set(IncidentEvent.objects.filter(cluster=cluster, key__in=keys).values_list("key", flat=True))
    return [one for one in failures if not seen & set(_keys(one))]


def _keys(failure: _Failure) -> tuple[str, str]:
    """Under either opener a failure is the same."""
    return failure.key, f"{Opener.BREAKER.value}:{failure.flip.pk}"
