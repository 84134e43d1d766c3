"""Incidents are opened, told more of, moved, merged, and come back. Each act is in the timeline and in the ledger."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.incidents.kinds import Component, EventKind, Standing, Weight
from checks.domain.incidents.standing import MOVES
from checks.domain.writing import is_storable
from checks.models import Incident, IncidentEvent, IncidentItemLink, IncidentNode
from checks.services.incident_opening import CHANGEABLE, Opening, checked, plain
from checks.services.incident_records import (
    Author,
    CannotMove,
    IncidentRefused,
    Touched,
    add_event,
    lock_incidents,
    refresh,
    require_author,
    require_order,
    require_text,
    take_over,
    touch,
    write_act,
)
from checks.services.permissions import require_reason

LONGEST_NOTE: Final = 4_000


@transaction.atomic
def revise_incident(
    *,
    incident: Incident,
    changes: Mapping[str, Any],
    author: Author,
    now: datetime,
    touched: tuple[Touched, ...] | None = None,
) -> Incident:
    """Correct what is known of an incident; *touched*, where given, are exactly the machines that it touched.

    Raises:
        MayNot, IncidentRefused, IncidentTimes, CannotMove.
    """
    require_author(author, incident.cluster)
    incident = _locked(incident)
    if strange := sorted(set(changes) - CHANGEABLE):
        raise IncidentRefused(f"{strange[0]} is nothing that is changed; there are {', '.join(sorted(CHANGEABLE))}.")
    before = {name: getattr(incident, name) for name in changes}
    opening = checked(_as_opening(incident, changes), incident.cluster)
    require_order(opening.started_at, opening.detected_at, incident.stable_at, now=now)
    after = {name: getattr(opening, name) for name in changes}
    changed = {name: {"before": plain(before[name]), "after": plain(after[name])}
               for name in changes if before[name] != after[name]}  # fmt: skip
    for name, value in after.items():
        setattr(incident, name, value)
    incident.save(update_fields=list(after) or None)
    names = _set_touched(incident, touched)
    if names:
        changed["nodes"] = names
    if changed:
        add_event(incident, EventKind.CHANGED, author=author, now=now, data=changed)
        refresh(incident)
        write_act("incident_changed", incident, author=author, now=now, data=changed)
    return incident


@transaction.atomic
def note_on_incident(
    *, incident: Incident, text: str, author: Author, now: datetime, at: datetime | None = None
) -> IncidentEvent:
    """Add a line to the timeline; *at* is when it happened.

    Raises:
        MayNot, ReasonMissing, IncidentRefused: nothing is said, too much, or of a time to come.
    """
    require_author(author, incident.cluster)
    told = require_reason(require_text(text, most=LONGEST_NOTE, what=_("line")))
    if at is not None and (at > now or not is_storable(at)):
        raise IncidentRefused(_("A timeline tells what was; correct the moment."))
    incident = _locked(incident)
    event = add_event(incident, EventKind.NOTED, author=author, now=now, at=at, text=told)
    refresh(incident)
    write_act("incident_noted", incident, author=author, now=now, reason=told[:2000], data={"at": event.at})
    return event


@transaction.atomic
def move_incident(
    *, incident: Incident, to: Standing, author: Author, now: datetime, at: datetime | None = None, text: str = ""
) -> Incident:
    """Say that the trouble has ended (*at* then), that it was looked through, or that it was not over after all.

    Raises:
        MayNot, CannotMove, IncidentRefused, IncidentTimes.
    """
    require_author(author, incident.cluster)
    told = require_text(text, most=LONGEST_NOTE, what=_("line"))
    incident = _locked(incident)
    _require_move(incident, to)
    before = incident.standing
    if to is Standing.STABLE:
        require_order(incident.started_at, incident.detected_at, at or now, now=now)
        incident.stable_at = at or now
    elif to is Standing.CLOSED:
        incident.closed_at = now
    else:
        incident.stable_at = incident.closed_at = None
    incident.standing = to.value
    incident.save(update_fields=["standing", "stable_at", "closed_at"])
    kind = {Standing.STABLE: EventKind.STABLE, Standing.CLOSED: EventKind.CLOSED}.get(to, EventKind.REOPENED)
    add_event(incident, kind, author=author, now=now, at=at, text=told)
    refresh(incident)
    data = {"before": before, "after": to.value}
    write_act("incident_moved", incident, author=author, now=now, reason=told[:2000], data=data)
    return incident


@transaction.atomic
def merge_incident(*, incident: Incident, into: Incident, author: Author, reason: str, now: datetime) -> Incident:
    """Say that *incident* is the same trouble as *into*, which takes its machines, its items and its first moments.

    What the merged one had lost is not added: it was lost once.

    Raises:
        MayNot, ReasonMissing, CannotMove.
        IncidentRefused: they are one, of two clusters, or *into* was merged itself.
    """
    require_author(author, incident.cluster)
    told = require_reason(reason)
    if incident.pk == into.pk or incident.cluster_id != into.cluster_id:
        raise IncidentRefused(_("Name another incident of the same cluster."))
    incident, into = _locked(incident), _locked(into)
    if Standing.MERGED in (incident.standing, into.standing):
        raise IncidentRefused(_("One of the two was merged already; name the incident that it went into."))
    absorb(incident, into, author=author, now=now, text=told)
    data = {"into": str(into)}
    write_act("incident_merged", incident, author=author, now=now, reason=told, data=data)
    return into


def absorb(incident: Incident, into: Incident, *, author: Author, now: datetime, text: str) -> None:
    """Put *incident* into *into*; the caller holds the lock of their cluster and writes the act down."""
    incident.standing, incident.merged_into = Standing.MERGED.value, into
    incident.save(update_fields=["standing", "merged_into"])
    Incident.objects.filter(merged_into=incident).update(merged_into=into)
    take_over(into, [Touched(one.hostname, one.part) for one in incident.touched.all()])
    known = set(into.links.values_list("item", flat=True))
    IncidentItemLink.objects.filter(incident=incident).exclude(item__in=known).update(incident=into)
    into.started_at = min(into.started_at, incident.started_at)
    into.detected_at = min(into.detected_at, incident.detected_at)
    into.save(update_fields=["started_at", "detected_at"])
    add_event(incident, EventKind.MERGED, author=author, now=now, text=text, data={"into": str(into)})
    add_event(into, EventKind.MERGED, author=author, now=now, text=text, data={"from": str(incident)})
    refresh(into)


def _require_move(incident: Incident, to: Standing) -> None:
    if to not in MOVES[Standing(incident.standing)]:
        said = _("%(incident)s is %(standing)s; from there it does not go to %(to)s.")
        raise CannotMove(said % {"incident": incident, "standing": incident.standing, "to": to.value})


def _set_touched(incident: Incident, touched: tuple[Touched, ...] | None) -> dict[str, list[str]]:
    """Names that came and went."""
    if touched is None:
        return {}
    wanted = {(one.hostname, one.part) for one in touched}
    gone = [row for row in incident.touched.all() if (row.hostname, row.part) not in wanted]
    IncidentNode.objects.filter(pk__in=[row.pk for row in gone]).delete()
    new = touch(incident, touched)
    if not gone and not new:
        return {}
    return {"before": [_name(row) for row in gone], "after": [_name(row) for row in new]}


def _name(row: IncidentNode) -> str:
    return f"{row.hostname} {row.part}".strip()


def _as_opening(incident: Incident, changes: Mapping[str, Any]) -> Opening:
    held = {name: getattr(incident, name) for name in CHANGEABLE} | dict(changes)
    return Opening(**held | {"weight": Weight(held["weight"]), "component": Component(held["component"])})


def _locked(incident: Incident) -> Incident:
    lock_incidents(incident.cluster)
    found = Incident.objects.select_related("cluster", "run").select_for_update(of=("self",), no_key=True)
    return found.get(pk=incident.pk)
