"""Flips, gaps and re-checks as lines of one timeline, newest first."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from checks.models import Cluster, Flip, Gap, Node, RecheckRequest
from checks.selectors.pages_history import FlipGroup
from portal.ui import times, words


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


def of_flip(cluster: Cluster, node: Node, flip: Flip) -> Event:
    """One change on one node: of what was measured, or of what has settled."""
    where = f"{flip.item} {subject_label(flip.subject)}" if flip.subject else flip.item
    settled = flip.raw == flip.raw_before
    before, after = (flip.settled_before, flip.settled) if settled else (flip.raw_before, flip.raw)
    parts = [_arrow(before, after), reason_said(flip.reason, "") if after in ("fail", "unknown") else ""]
    if settled:
        parts.append(_("settled"))
    if flip.cause != "report":
        parts.append(words.CAUSES[flip.cause])
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
    where = group.hostname if one else ngettext("%(n)d node", "%(n)d nodes", group.nodes) % {"n": group.nodes}
    title = _("%(item)s on %(where)s") % {"item": group.item, "where": where}
    href = (
        item_href(cluster, group.hostname, group.item) if one else reverse("ui:item", args=[cluster.slug, group.item])
    )
    return Event(group.at, group.after, title, f"{_arrow(group.before, group.after)} · {cluster.slug}", href)


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


def subject_label(subject: str) -> str:
    """``gpu3`` as people write it; the node itself for the empty subject."""
    if not subject:
        return _("node")
    kind = subject.rstrip("0123456789")
    number = subject[len(kind) :]
    return f"{kind.upper()} {number}" if kind in ("gpu", "nic") and number else subject


def reason_said(reason: str, detail: str) -> str:
    """Why a verdict is not a pass: our word for the reason, and what the agent or judge said about it."""
    word = str(words.REASONS.get(reason, reason)) if reason else ""
    return ": ".join(part for part in (word, detail) if part)


def _arrow(before: str, after: str) -> str:
    # A row's first verdict has nothing before it.
    return " → ".join(str(words.VERDICTS[each]) for each in (before, after) if each)
