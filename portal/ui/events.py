"""Flips, gaps and re-checks as lines of one timeline, newest first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from checks.models import Cluster, Flip, Gap, Node, RecheckRequest
from checks.selectors.pages_history import Enrolled, FlipGroup
from portal.ui import times, words
from portal.ui.details import detail_said
from portal.ui.subjects import subjects_said


@dataclass(frozen=True, slots=True)
class Event:
    """One line; *verdict* is its shape, empty for a person's act."""

    at: datetime
    verdict: str
    title: str
    detail: str = ""
    href: str = ""


def newest(events: Iterable[Event], limit: int) -> tuple[Event, ...]:
    """The newest of *events*, whatever their kind."""
    return tuple(sorted(events, key=lambda event: event.at, reverse=True)[:limit])


def of_flips(cluster: Cluster, node: Node, flips: Iterable[Flip]) -> list[Event]:
    """Changes on one node; subjects of one item that changed alike within a minute share an event."""
    alike: dict[tuple[object, ...], list[Flip]] = {}
    for flip in flips:
        minute = flip.at.replace(second=0, microsecond=0)
        change = (flip.item, flip.raw_before, flip.raw, flip.settled_before, flip.settled, flip.reason, minute)
        alike.setdefault(change, []).append(flip)
    return [_of_flip(cluster, node, held) for held in alike.values()]


def _of_flip(cluster: Cluster, node: Node, held: Sequence[Flip]) -> Event:
    """One change: of what was measured, or of what has settled."""
    flip, subjects = held[0], sorted(each.subject for each in held)
    where = f"{flip.item} {subjects_said(subjects)}" if flip.subject else flip.item
    settled = flip.raw == flip.raw_before
    before, after = (flip.settled_before, flip.settled) if settled else (flip.raw_before, flip.raw)
    change = _("settled as %(verdict)s") % {"verdict": words.VERDICTS[after]} if settled else _arrow(before, after)
    parts = [change, reason_said(flip.reason, "") if after in ("fail", "unknown") else ""]
    if flip.cause != "report":
        parts.append(str(words.CAUSES[flip.cause]))
    return Event(
        flip.at,
        after,
        str(where),
        ", ".join(str(part) for part in parts if part),
        item_href(cluster, node.hostname, flip.item, flip.subject),
    )


def of_group(cluster: Cluster, group: FlipGroup) -> Event:
    """One change on however many nodes had it."""
    one = group.nodes == 1
    title = _("%(item)s on %(where)s") % {"item": group.item, "where": _nodes_said(group)}
    href = (
        item_href(cluster, group.hostname, group.item) if one else reverse("ui:item", args=[cluster.slug, group.item])
    )
    return Event(group.at, group.after, title, f"{_arrow(group.before, group.after)} · {cluster.slug}", href)


def of_groups(clusters: Mapping[int, Cluster], groups: Iterable[FlipGroup]) -> list[Event]:
    """Changes as events; several items that changed alike, on as many nodes within a minute, share one."""
    alike: dict[tuple[object, ...], list[FlipGroup]] = {}
    for group in groups:
        minute = group.at.replace(second=0, microsecond=0)
        where = group.hostname if group.nodes == 1 else ""
        alike.setdefault((group.cluster_id, group.before, group.after, group.nodes, where, minute), []).append(group)
    return [
        of_group(clusters[held[0].cluster_id], held[0])
        if len(held) == 1
        else _of_many(clusters[held[0].cluster_id], held)
        for held in alike.values()
    ]


def _of_many(cluster: Cluster, held: Sequence[FlipGroup]) -> Event:
    first = held[0]
    one = first.nodes == 1
    items = ngettext("%(n)d item", "%(n)d items", len(held)) % {"n": len(held)}
    title = _("%(item)s on %(where)s") % {"item": items, "where": _nodes_said(first)}
    href = (
        reverse("ui:node", args=[cluster.slug, first.hostname]) if one else reverse("ui:cluster", args=[cluster.slug])
    )
    named = ", ".join(group.item for group in held[:2]) + ("…" if len(held) > 2 else "")
    return Event(first.at, first.after, title, f"{_arrow(first.before, first.after)} · {named}", href)


def _nodes_said(group: FlipGroup) -> str:
    if group.nodes == 1:
        return group.hostname
    return ngettext("%(n)d node", "%(n)d nodes", group.nodes) % {"n": group.nodes}


def of_gap(cluster: Cluster, gap: Gap) -> Event:
    """A time in which a node said nothing."""
    title = _("%(node)s went silent") % {"node": gap.node.hostname}
    cadence = words.CADENCES_SHORT.get(gap.cadence, gap.cadence)
    if gap.ended_at is None:
        detail = _("no %(cadence)s evidence since then") % {"cadence": cadence}
    else:
        span = times.duration((gap.ended_at - gap.started_at).total_seconds())
        detail = _("no %(cadence)s evidence for %(span)s, then back") % {"cadence": cadence, "span": span}
    return Event(gap.started_at, "stale", title, detail, reverse("ui:node", args=[cluster.slug, gap.node.hostname]))


def of_enrolled(cluster: Cluster, enrolled: Enrolled) -> Event:
    """Nodes that came into the cluster."""
    one = enrolled.nodes == 1
    said = ngettext("%(n)d node enrolled", "%(n)d nodes enrolled", enrolled.nodes) % {"n": enrolled.nodes}
    title = _("%(node)s enrolled") % {"node": enrolled.hostname} if one else said
    href = (
        reverse("ui:node", args=[cluster.slug, enrolled.hostname])
        if one
        else reverse("ui:cluster", args=[cluster.slug])
    )
    return Event(enrolled.at, "", title, cluster.slug, href)


def of_recheck(recheck: RecheckRequest) -> Event:
    """What a person asked a node to measure again."""
    who = recheck.requested_by.shown_name if recheck.requested_by else ""
    count = len(recheck.items)
    what = recheck.items[0] if count == 1 else ngettext("%(n)d item", "%(n)d items", count) % {"n": count}
    state = _("measured") if recheck.done_at else _("waiting for the agent")
    return Event(recheck.requested_at, "", _("%(who)s asked for a re-check") % {"who": who}, f"{what}, {state}")


def item_href(cluster: Cluster, hostname: str, item: str, subject: str = "") -> str:
    """The page of one item on one node, at one subject where it is given."""
    href = reverse("ui:node_item", args=[cluster.slug, hostname, item])
    return f"{href}?subject={subject}" if subject else href


def reason_said(reason: str, detail: str) -> str:
    """Why a verdict is not a pass: our word for the reason, and what the agent or judge said about it."""
    word = str(words.REASONS.get(reason, reason)) if reason else ""
    return ": ".join(part for part in (word, detail_said(detail)) if part)


def _arrow(before: str, after: str) -> str:
    # A row's first verdict has nothing before it.
    return " → ".join(str(words.VERDICTS[each]) for each in (before, after) if each)
