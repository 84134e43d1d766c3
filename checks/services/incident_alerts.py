"""Prometheus Alertmanager's groups of alerts: one that fires opens an incident, or joins it; one that resolved ends it.

A group is one trouble: a row for each alert would make every figure about incidents meaningless.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

from django.db import transaction

from checks.domain.incidents.kinds import Component, EventKind, Opener, Standing, Weight
from checks.domain.writing import as_line, is_storable
from checks.models import Cluster, Incident, IncidentEvent, Run
from checks.services.incident_opening import Opened, Opening, Sign, open_incident, survivor_of
from checks.services.incident_records import Author, Touched, add_event, lock_incidents, refresh, write_act
from checks.services.incident_telling import listed, markdown, prose, with_note

_WEIGHTS: Final = {"critical": Weight.CRITICAL, "page": Weight.CRITICAL, "error": Weight.MAJOR, "major": Weight.MAJOR,
                   "warning": Weight.MINOR, "info": Weight.MINOR, "minor": Weight.MINOR}  # fmt: skip
# Labels that name a machine, the most exact first; Prometheus adds a port to the last two.
_HOSTS: Final = ("hostname", "node", "nodename", "Hostname", "host", "instance", "exported_instance")
_PARTS: Final = ("gpu", "device")
_LONGEST_TITLE: Final = 200
_LONGEST_SUMMARY: Final = 20_000
_LONGEST_CLASS: Final = 80


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert of a group."""

    firing: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_at: datetime
    ends_at: datetime | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class AlertGroup:
    """What Alertmanager sends at once; *key* names the group, and stays while its alerts come and go."""

    key: str
    firing: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    alerts: tuple[Alert, ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a group: the incident (None: nothing was known to have fired), and what happened to it."""

    incident: Incident | None
    outcome: str


@transaction.atomic
def hear_alerts(*, cluster: Cluster, group: AlertGroup, author: Author, now: datetime) -> Heard:
    """Open, join or end the incident of *group*. What was heard before, in whatever order, changes nothing.

    Alertmanager does not send again what was refused: whatever stands in a label, the group is told.
    """
    lock_incidents(cluster)
    heard = _heard(cluster, group)
    if not group.firing:
        return _end(cluster, group, heard, author, now)
    new = [one for one in group.alerts if one.firing and _key(group, one) not in heard]
    if not new:
        known = _incident(cluster, group)
        return Heard(known, "known" if known else "ignored")
    opened = _open(cluster, group, new, author, now)
    return Heard(opened.incident, opened.outcome)


def _open(cluster: Cluster, group: AlertGroup, new: Sequence[Alert], author: Author, now: datetime) -> Opened:
    first, *rest = new
    labels = {**first.labels, **group.labels}
    started, (parts, note) = min(_start(one, now) for one in new), _touched(new)
    opening = Opening(
        title=_title(group, labels), weight=_WEIGHTS.get(labels.get("severity", "").lower(), Weight.MAJOR),
        component=_component(labels), started_at=started, detected_at=started, error_class=_class(group),
        summary=markdown(_description(group, first), most=_LONGEST_SUMMARY),
        run=Run.objects.filter(cluster=cluster, slug=labels.get("run", "")).first(), touched=parts,
        signs=tuple(Sign(_start(one, now), _told(one), _key(group, one)) for one in rest),
    )  # fmt: skip
    return open_incident(
        cluster=cluster, opening=opening, source=Opener.ALERTMANAGER.value, author=author, now=now,
        external_id=_key(group, first).partition(":")[2], text=with_note(_told(first), note),
        same_as=_incident(cluster, group),
    )  # fmt: skip


def _end(cluster: Cluster, group: AlertGroup, heard: set[str], author: Author, now: datetime) -> Heard:
    """The group has resolved: its incident is stable from when the last of its alerts ended.

    Where groups were merged, one alone says nothing of the others: that it resolved is noted, and people say the rest.
    """
    mine = _own(cluster, group)
    incident = survivor_of(mine) if mine is not None else None
    if mine is None or incident is None or incident.standing != Standing.OPEN:
        return Heard(incident, "known" if incident else "ignored")
    if not any(_key(group, one) in heard for one in group.alerts):
        return Heard(incident, "ignored")  # it resolved something that came before this occurrence
    ended = [one.ends_at for one in group.alerts if one.ends_at is not None]
    at = min(max([*ended, incident.detected_at]), now) if ended else now
    if incident.pk != mine.pk or _others_fire(incident):
        return _note_end(incident, mine, group, author, now, at)
    incident.standing, incident.stable_at = Standing.STABLE.value, at
    incident.save(update_fields=["standing", "stable_at"])
    add_event(incident, EventKind.STABLE, author=author, now=now, at=at)
    refresh(incident)
    data = {"before": Standing.OPEN.value, "after": Standing.STABLE.value}
    write_act("incident_moved", incident, author=author, now=now, data=data)
    return Heard(incident, "stable")


def _others_fire(incident: Incident) -> bool:
    """Whether another group, whose incident was merged into this one, has not resolved as far as anybody was told."""
    merged = incident.merged.filter(source=Opener.ALERTMANAGER.value, stable_at=None)
    ended = incident.events.filter(kind=EventKind.NOTED, data__has_key="resolved").values_list("data__resolved")
    return bool(set(merged.values_list("error_class")) - set(ended))


def _note_end(
    incident: Incident, mine: Incident, group: AlertGroup, author: Author, now: datetime, at: datetime
) -> Heard:
    told = "\n".join(sorted(_key(group, one) for one in group.alerts))
    key = f"{Opener.ALERTMANAGER.value}:resolved:{sha256(told.encode()).hexdigest()}"
    if IncidentEvent.objects.filter(cluster=incident.cluster, key=key).exists():
        return Heard(incident, "known")
    text, data = f"The alerts of {mine} have resolved.", {"resolved": mine.error_class}
    add_event(incident, EventKind.NOTED, author=author, now=now, at=at, text=text, data=data, key=key)
    refresh(incident)
    write_act("incident_noted", incident, author=author, now=now, reason=text, data={"at": at})
    return Heard(incident, "noted")


def _incident(cluster: Cluster, group: AlertGroup) -> Incident | None:
    """The newest incident of the group, or the one that it was merged into."""
    mine = _own(cluster, group)
    return survivor_of(mine) if mine is not None else None


def _own(cluster: Cluster, group: AlertGroup) -> Incident | None:
    found = Incident.objects.select_related("cluster", "run", "merged_into__cluster", "merged_into__run")
    return found.filter(cluster=cluster, source=Opener.ALERTMANAGER.value, error_class=_class(group)).first()


def _heard(cluster: Cluster, group: AlertGroup) -> set[str]:
    keys = [_key(group, one) for one in group.alerts]
    return set(IncidentEvent.objects.filter(cluster=cluster, key__in=keys).values_list("key", flat=True))


def _start(alert: Alert, now: datetime) -> datetime:
    """When it began; now, where that lies ahead or in a year that nobody means."""
    return min(alert.starts_at, now) if is_storable(alert.starts_at) else now


def _key(group: AlertGroup, alert: Alert) -> str:
    """One firing of one alert of the group: it fires again later with another start."""
    told = f"{group.key}\n{alert.fingerprint}\n{alert.starts_at.isoformat()}"
    return f"{Opener.ALERTMANAGER.value}:{sha256(told.encode()).hexdigest()}"


def _class(group: AlertGroup) -> str:
    """The class of error that the group stands for: its alert's name, and its key, which a person cannot read."""
    name = "-".join(as_line(group.labels.get("alertname", "alerts")).split())[: _LONGEST_CLASS - 17]
    return f"{name}-{sha256(group.key.encode()).hexdigest()[:16]}"


def _title(group: AlertGroup, labels: Mapping[str, str]) -> str:
    told = group.annotations.get("summary") or labels.get("alertname") or "Alert"
    return " ".join(prose(told, most=_LONGEST_SUMMARY).split())[:_LONGEST_TITLE] or "Alert"


def _description(group: AlertGroup, first: Alert) -> str:
    return group.annotations.get("description") or first.annotations.get("description", "")


def _component(labels: Mapping[str, str]) -> Component:
    told = labels.get("component", "")
    return Component(told) if told in Component.__members__.values() else Component.UNKNOWN


def _touched(alerts: Iterable[Alert]) -> tuple[tuple[Touched, ...], str]:
    return listed(Touched(_host(one.labels), _part(one.labels)) for one in alerts)


def _host(labels: Mapping[str, str]) -> str:
    told = next((named for name in _HOSTS if (named := as_line(labels.get(name, "")))), "")
    host, _colon, port = told.rpartition(":")
    return (host if port.isdigit() and host else told).lower()[:253]


def _part(labels: Mapping[str, str]) -> str:
    """``gpu3`` of the labels that NVIDIA's exporter writes: gpu="3"."""
    told = next((labels[name] for name in _PARTS if labels.get(name)), "")
    return f"gpu{told}" if told.isdigit() else told if told.startswith("gpu") and told[3:].isdigit() else ""


def _told(alert: Alert) -> str:
    said = alert.annotations.get("summary") or alert.annotations.get("description") or ""
    named = ", ".join(f"{name}={value}" for name, value in sorted(alert.labels.items()))
    return prose(f"{said}\n{named}".strip(), most=4000)
