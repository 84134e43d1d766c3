"""When a cluster's nodes may be measured at the cost of a job, and which items then wait for it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence, Source, Verdict
from checks.domain.windows import DailyWindow, WindowKind, known_zone, next_opening, open_until
from checks.models import Cluster, MaintenanceWindow, Node, NodeClaim, NodeItemState, ScopeState
from checks.models.states import JudgedRow
from checks.selectors.links import node_subject

# Offline evidence is renewed before it ends: not every window has room for every node.
RENEW_BEFORE_END = timedelta(days=2)
# What failed, or could not be told, is measured again in the next window, and not all night long in the same one.
AGAIN_AFTER = timedelta(hours=20)


def windows_of(cluster: Cluster) -> tuple[DailyWindow, ...]:
    """The windows that are set."""
    rows = MaintenanceWindow.objects.filter(cluster=cluster, ended_at=None)
    return tuple(DailyWindow(WindowKind(row.kind), row.opens, row.closes) for row in rows)


def window_open_until(cluster: Cluster, now: datetime) -> datetime | None:
    """When the window that is open in *cluster* at *now* ends, of whichever kind; None while none is open."""
    zone, windows = known_zone(cluster.time_zone), windows_of(cluster)
    return open_until(windows, zone, now) if zone is not None else None


def window_opens_at(cluster: Cluster, now: datetime) -> datetime | None:
    """When the next window of *cluster* opens after *now*, in the cluster's own time; None where none is set."""
    zone = known_zone(cluster.time_zone)
    opens = next_opening(windows_of(cluster), zone, now) if zone is not None else None
    return None if opens is None else opens.astimezone(zone)


def open_claim(node: Node, now: datetime) -> NodeClaim | None:
    """The claim that stands on *node* at *now*."""
    return NodeClaim.objects.filter(node=node, ended_at=None, until__gt=now).first()


def claimable_items(ruleset: Ruleset) -> frozenset[str]:
    """What a node may be taken for: what a probe measures offline and its profile has, in shadow or not."""
    return frozenset(
        key
        for key, item in ruleset.items.items()
        if item.source is Source.PROBE and item.cadence is Cadence.OFFLINE and ruleset.applies(key)
    )


def offline_items_due(node: Node, ruleset: Ruleset, now: datetime) -> tuple[str, ...]:
    """The items that *node* should measure offline now, what was measured longest ago first; none outside of a window.

    Costs nothing where the rules have no such item.
    """
    wanted = ruleset.due(Cadence.OFFLINE)
    if not wanted or window_open_until(node.cluster, now) is None or open_claim(node, now) is not None:
        return ()
    rows = NodeItemState.objects.filter(node=node, item__in=wanted)
    links = ScopeState.objects.filter(cluster=node.cluster_id, item__in=wanted, subject=node_subject(str(node.pk)))
    measured: dict[str, list[JudgedRow]] = {key: [] for key in wanted}
    for row in (*rows, *links):
        measured[row.item].append(row)
    due = [(_oldest(held), key) for key, held in measured.items() if any(_is_due(row, now) for row in held) or not held]
    return tuple(key for _, key in sorted(due))


def _oldest(rows: Sequence[JudgedRow]) -> datetime:
    never = datetime(1970, 1, 1, tzinfo=UTC)
    return min((row.observed_at or never for row in rows), default=never)


def _is_due(row: JudgedRow, now: datetime) -> bool:
    if row.observed_at is None or row.valid_until is None:
        return True
    if row.raw in (Verdict.FAIL, Verdict.UNKNOWN):
        return row.observed_at <= now - AGAIN_AFTER
    return row.valid_until <= now + RENEW_BEFORE_END
