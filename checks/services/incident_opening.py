"""Incidents are opened: a new trouble, more about one that is open, or one that comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.incidents.kinds import ActionState, Component, EventKind, Opener, Standing, Weight
from checks.domain.incidents.recurring import Meeting, fingerprint_of, meeting_of
from checks.domain.writing import is_storable
from checks.models import Cluster, CorrectiveAction, Incident, IncidentEvent, IncidentNode, Run
from checks.selectors.incident_losses import with_losses
from checks.services.incident_links import Linking, link_items
from checks.services.incident_records import (
    Author,
    IncidentRefused,
    Touched,
    add_event,
    lock_incidents,
    refresh,
    require_author,
    require_line,
    require_order,
    require_text,
    serial_of,
    touch,
    write_act,
)
from checks.services.markdown import require_harmless

_LONGEST_TITLE: Final = 200
_LONGEST_SUMMARY: Final = 20_000
_LONGEST_CLASS: Final = 80
_LARGEST: Final = 2**53
_MOST_GPUS: Final = 2**31 - 1
# They watch, and tell what has not ended; what they tell late is no word about the past.
_WATCHERS: Final = frozenset({Opener.FLIP, Opener.BREAKER, Opener.ALERTMANAGER})


@dataclass(frozen=True, slots=True)
class Sign:
    """A further sign of the same trouble; *key* keeps it from counting twice."""

    at: datetime
    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Opening:
    """What is known of an incident when it is opened. *told_gpu_seconds* replaces GPUs x time."""

    title: str
    weight: Weight
    component: Component
    started_at: datetime
    detected_at: datetime
    summary: str = ""
    error_class: str = ""
    run: Run | None = None
    step: int | None = None
    gpus_affected: int | None = None
    lost_work_s: int = 0
    told_gpu_seconds: int | None = None
    touched: tuple[Touched, ...] = ()
    links: tuple[Linking, ...] = ()
    signs: tuple[Sign, ...] = ()


_OUTCOMES: Final = {Meeting.IS_NEW: "opened", Meeting.JOINS: "joined", Meeting.REOPENS: "reopened"}


@dataclass(frozen=True, slots=True)
class Opened:
    """The incident that stands for what was told, and what that was to it; *known*: it had been told before."""

    incident: Incident
    meeting: Meeting
    known: bool = False

    @property
    def outcome(self) -> str:
        """In a word: *opened*, *joined*, *reopened* or *known*."""
        return "known" if self.known else _OUTCOMES[self.meeting]


#: Columns that people change, and a program tells at the opening.
CHANGEABLE: Final = frozenset(
    {
        "title", "summary", "weight", "component", "error_class", "run", "step", "started_at", "detected_at",
        "gpus_affected", "lost_work_s", "told_gpu_seconds",
    }
)  # fmt: skip


@transaction.atomic
def open_incident(
    *,
    cluster: Cluster,
    opening: Opening,
    source: str,
    author: Author,
    now: datetime,
    external_id: str = "",
    text: str = "",
    same_as: Incident | None = None,
) -> Opened:
    """Write an incident down, or more about one that is known.

    Idempotent by (*source*, *external_id*). The same trouble (see `checks.domain.incidents.recurring`) joins the one
    that is open, and opens the one again that ended within 90 days; a caller that knows the same trouble by other signs
    names its incident: *same_as*. *text* is the first line of the timeline. What the portal's own watchers tell opens
    also the one again that was called over after the moment that they tell of: joined quietly, it would reach nobody.

    Raises:
        MayNot, IncidentRefused, IncidentTimes.
    """
    require_author(author, cluster)
    require_order(opening.started_at, opening.detected_at, None, now=now)
    opening = checked(opening, cluster)
    key = f"{source}:{external_id}" if external_id else ""
    lock_incidents(cluster)
    told = IncidentEvent.objects.filter(cluster=cluster, key=key).first() if key else None
    if told is not None:
        return Opened(survivor_of(told.incident), Meeting.JOINS, known=True)
    alike = _alike(same_as or _same(cluster, opening), opening)
    if alike is None:
        return _create(cluster, opening, source, author, now, key, text)
    incident, meeting = alike
    if meeting is Meeting.REOPENS:
        _come_back(incident, opening, author, now, key, text)
    elif source in _WATCHERS and incident.standing != Standing.OPEN:
        _go_on(incident, opening, author, now, key, text)
        return Opened(incident, Meeting.REOPENS)
    else:
        _see_again(incident, opening, author, now, key, text)
    return Opened(incident, meeting)


def survivor_of(incident: Incident) -> Incident:
    """The incident that *incident* was merged into, itself where it was not; merging leaves no chains."""
    return incident.merged_into or incident


def checked(opening: Opening, cluster: Cluster) -> Opening:
    """*opening* with its texts as they are stored.

    Raises:
        IncidentRefused
    """
    title = require_line(opening.title, most=_LONGEST_TITLE, what=_("title"))
    if not title:
        raise IncidentRefused(_("Give the incident a title: what somebody would have seen."))
    if opening.run is not None and opening.run.cluster_id != cluster.pk:
        raise IncidentRefused(_("Name a run of the incident's cluster."))
    if not (is_storable(opening.started_at) and is_storable(opening.detected_at)):
        raise IncidentRefused(_("Choose times from the year 2000 to the year 2199."))
    _require_counts(opening)
    summary = require_text(opening.summary, most=_LONGEST_SUMMARY, what=_("summary"))
    require_harmless(summary)
    named = require_line(opening.error_class, most=_LONGEST_CLASS, what=_("class of the error"))
    held = {name: getattr(opening, name) for name in Opening.__dataclass_fields__}
    return Opening(**held | {"title": title, "summary": summary, "error_class": named})


def _require_counts(opening: Opening) -> None:
    for name, most in (("gpus_affected", _MOST_GPUS), ("lost_work_s", _LARGEST), ("told_gpu_seconds", _LARGEST),
                       ("step", _LARGEST)):  # fmt: skip
        value = getattr(opening, name)
        if value is not None and not 0 <= value <= most:
            raise IncidentRefused(_("%(name)s is a count from 0 to %(most)d.") % {"name": name, "most": most})


def _alike(found: Incident | None, opening: Opening) -> tuple[Incident, Meeting] | None:
    """What the opening is to the incident of the same trouble; None where it is a new one."""
    if found is None:
        return None
    meeting = meeting_of(Standing(found.standing), found.stable_at or found.closed_at, at=opening.detected_at)
    return None if meeting is Meeting.IS_NEW else (found, meeting)


def _same(cluster: Cluster, opening: Opening) -> Incident | None:
    """The newest incident of the same fingerprint."""
    mark = _fingerprint(cluster, opening)
    same = Incident.objects.filter(cluster=cluster, fingerprint=mark).exclude(standing=Standing.MERGED)
    return same.select_related("cluster", "run").first() if mark else None


def _fingerprint(cluster: Cluster, opening: Opening) -> str:
    return fingerprint_of(opening.component, opening.error_class, _serial(cluster, opening.touched))


def _serial(cluster: Cluster, touched: tuple[Touched, ...]) -> str:
    """The serial that the opening would be told by, once its machines are noted."""
    nodes = cluster.nodes.filter(hostname__in={one.hostname for one in touched})
    serials = {node.hostname: node.serials for node in nodes}
    rows = [
        IncidentNode(
            machine_serial=serials.get(one.hostname, {}).get("system", ""),
            part_serial=serials.get(one.hostname, {}).get(one.part, ""),
        )
        for one in touched
    ]
    return serial_of(rows)


def _create(
    cluster: Cluster, opening: Opening, source: str, author: Author, now: datetime, key: str, text: str
) -> Opened:
    columns = {name: getattr(opening, name) for name in CHANGEABLE}
    incident = Incident.objects.create(
        cluster=cluster, source=source, opened_by=author.by, opened_at=now, **_stored(columns)
    )
    touch(incident, opening.touched)
    add_event(incident, EventKind.OPENED, author=author, now=now, at=opening.detected_at, text=text, key=key)
    _tell_more(incident, opening, author, now)
    refresh(incident)
    data = {"title": opening.title, "source": source, "component": incident.component, "weight": incident.weight}
    write_act("incident_opened", incident, author=author, now=now, data=data)
    return Opened(incident, Meeting.IS_NEW)


def _see_again(incident: Incident, opening: Opening, author: Author, now: datetime, key: str, text: str) -> None:
    """The same trouble, told once more while it is open."""
    touch(incident, opening.touched)
    said = text or opening.title
    add_event(incident, EventKind.SEEN_AGAIN, author=author, now=now, at=opening.detected_at, text=said, key=key)
    _tell_more(incident, opening, author, now)
    refresh(incident)


def _go_on(incident: Incident, opening: Opening, author: Author, now: datetime, key: str, text: str) -> None:
    """It was not over when somebody said so: the same occurrence goes on, with the moments that it had."""
    data = {"before": incident.standing, "after": Standing.OPEN.value}
    was = {name: plain(getattr(incident, name)) for name in ("stable_at", "closed_at")}
    incident.standing, incident.stable_at, incident.closed_at = Standing.OPEN.value, None, None
    incident.save(update_fields=["standing", "stable_at", "closed_at"])
    touch(incident, opening.touched)
    said = text or opening.title
    add_event(
        incident, EventKind.REOPENED, author=author, now=now, at=opening.detected_at, text=said, data=was, key=key
    )
    _tell_more(incident, opening, author, now)
    refresh(incident)
    write_act("incident_moved", incident, author=author, now=now, data=data)


def _come_back(incident: Incident, opening: Opening, author: Author, now: datetime, key: str, text: str) -> None:
    """Open it again: what was done about it did not hold, so its actions are open again too."""
    lost = with_losses(Incident.objects.filter(pk=incident.pk), now=now).get().lost_s
    moments = ("started_at", "detected_at", "stable_at", "closed_at")
    was = {name: plain(getattr(incident, name)) for name in moments} | {"lost_gpu_seconds": lost}
    incident.carried_gpu_seconds = lost or 0
    incident.occurrences += 1
    for name in ("started_at", "detected_at", "gpus_affected", "lost_work_s", "told_gpu_seconds", "step", "run"):
        setattr(incident, name, getattr(opening, name))
    incident.stable_at = incident.closed_at = None
    incident.standing = Standing.OPEN.value
    incident.save()
    touch(incident, opening.touched)
    said = text or opening.title
    add_event(
        incident, EventKind.REOPENED, author=author, now=now, at=opening.detected_at, text=said, data=was, key=key
    )
    _reopen_actions(incident, author, now)
    _tell_more(incident, opening, author, now)
    refresh(incident)
    write_act("incident_reopened", incident, author=author, now=now, data=was | {"occurrences": incident.occurrences})


def _tell_more(incident: Incident, opening: Opening, author: Author, now: datetime) -> None:
    """What an opening says beside its first line."""
    for sign in opening.signs:
        add_event(
            incident, EventKind.SEEN_AGAIN, author=author, now=now, at=sign.at, text=sign.text, key=sign.key
        )  # fmt: skip
    link_items(incident, opening.links, author=author, now=now)


def _reopen_actions(incident: Incident, author: Author, now: datetime) -> None:
    ended = incident.actions.filter(state__in=(ActionState.VERIFIED, ActionState.DONE))
    for action in ended:
        data = {"action": action.pk, "before": action.state, "after": ActionState.ACCEPTED.value}
        text = _("%(action)s did not hold: it is open again.") % {"action": action.title}
        add_event(incident, EventKind.ACTION, author=author, now=now, text=text, data=data)
    CorrectiveAction.objects.filter(pk__in=[action.pk for action in ended]).update(
        state=ActionState.ACCEPTED.value, done_at=None, done_by=None, verified_at=None, verified_by=None, proof=""
    )


def _stored(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: getattr(value, "value", value) for name, value in columns.items()}


def plain(value: Any) -> Any:
    return value.slug if isinstance(value, Run) else value.isoformat() if isinstance(value, datetime) else value
