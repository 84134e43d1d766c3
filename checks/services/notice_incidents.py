"""Incidents that were opened, or came back: told to whoever leads, and to the owners of the runs that they struck."""

from datetime import datetime
from typing import Final

from django.urls import reverse

from checks.domain.incidents.kinds import EventKind, Standing, Weight
from checks.models import Cluster, Incident, IncidentEvent, NoticeMark
from checks.selectors.notice_people import leading
from checks.services import notice_words as words
from checks.services.notices import Message, tell

_BEGINNINGS: Final = (EventKind.OPENED, EventKind.REOPENED)


def tell_of_incidents(cluster: Cluster, *, now: datetime) -> int:
    """One message of all that began since the last look and is still open; returns how many rows are new.

    A switch that takes twenty nodes with it is one message. Nobody is told what only they themselves wrote down.
    """
    name = f"incidents:{cluster.pk}"
    mark, new = NoticeMark.objects.get_or_create(pk=name, defaults={"at": now})
    if new:
        return 0
    began = _began(cluster, mark.at, now)
    told = tell(_message(f"{name}:{mark.at:%Y%m%dT%H%M%S%f}", cluster, began), now=now) if began else 0
    NoticeMark.objects.filter(pk=name, at=mark.at).update(at=now)
    return told


def _began(cluster: Cluster, after: datetime, upto: datetime) -> list[Incident]:
    events = IncidentEvent.objects.filter(cluster=cluster, noted_at__gt=after, noted_at__lte=upto, kind__in=_BEGINNINGS)
    found = Incident.objects.filter(pk__in=events.values("incident"), standing=Standing.OPEN)
    return list(found.select_related("run__owner", "opened_by").order_by("pk"))


def _message(key: str, cluster: Cluster, began: list[Incident]) -> Message:
    people = {one.pk: one for one in leading(cluster)}
    people |= {one.run.owner_id: one.run.owner for one in began if one.run}
    openers = {one.opened_by_id for one in began}
    asked = [one for one in people.values() if one.is_active and openers != {one.pk}]
    path = reverse("ui:incident", args=[began[0].pk]) if len(began) == 1 else reverse("ui:incidents")
    loud = any(one.weight == Weight.CRITICAL for one in began)
    return Message(key, asked, lambda _: words.incidents(cluster.slug, began), path, cluster, loud=loud)
