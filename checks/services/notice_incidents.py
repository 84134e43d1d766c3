"""Incidents that were opened, or came back: told to whoever leads, and to the owners of the runs that they struck."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.urls import reverse

from checks.domain.incidents.kinds import EventKind, Standing, Weight
from checks.models import Cluster, Incident, IncidentEvent, NoticeMark
from checks.selectors.notice_people import leading
from checks.services import notice_words as words
from checks.services.notices import Message, tell

_BEGINNINGS: Final = (EventKind.OPENED, EventKind.REOPENED)
#: An act is written down with the time at which it began, and may have waited for locks since.
_SETTLED_AFTER: Final = timedelta(minutes=1)


def tell_of_incidents(cluster: Cluster, *, now: datetime) -> int:
    """One message of all that began since the last look and is still open; returns how many rows are new.

    A switch that takes twenty nodes with it is one message. Nobody is told what only they themselves wrote down.
    """
    name, upto = f"incident-notices:{cluster.pk}", now - _SETTLED_AFTER
    mark, new = NoticeMark.objects.get_or_create(pk=name, defaults={"at": upto})
    if new or upto <= mark.at:
        return 0
    began = _began(cluster, mark.at, upto)
    told = tell(_message(f"{name}:{mark.at:%Y%m%dT%H%M%S%f}", cluster, began), now=now) if began else 0
    NoticeMark.objects.filter(pk=name, at=mark.at).update(at=upto)
    return told


def _began(cluster: Cluster, after: datetime, upto: datetime) -> list[IncidentEvent]:
    """Beginnings of what is open still, one an incident: the last one."""
    events = IncidentEvent.objects.filter(cluster=cluster, noted_at__gt=after, noted_at__lte=upto, kind__in=_BEGINNINGS)
    still = events.filter(incident__standing=Standing.OPEN).select_related("incident__run__owner")
    return list({event.incident_id: event for event in still.order_by("pk")}.values())


def _message(key: str, cluster: Cluster, began: Sequence[IncidentEvent]) -> Message:
    incidents: list[Incident] = [event.incident for event in began]
    people = {one.pk: one for one in leading(cluster)}
    people |= {one.run.owner_id: one.run.owner for one in incidents if one.run}
    authors = {event.by_id for event in began}
    asked = [one for one in people.values() if one.is_active and authors != {one.pk}]
    path = reverse("ui:incident", args=[incidents[0].pk]) if len(incidents) == 1 else reverse("ui:incidents")
    loud = any(one.weight == Weight.CRITICAL for one in incidents)
    return Message(key, asked, lambda _: words.incidents(cluster.slug, incidents), path, cluster, loud=loud)
