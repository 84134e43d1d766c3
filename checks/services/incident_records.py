"""What every act on an incident does besides: a line of its timeline, words it is found by, parts that it touched."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.errors import CountersignError
from checks.domain.incidents.kinds import Component, EventKind
from checks.domain.incidents.recurring import fingerprint_of
from checks.domain.incidents.search import terms_of
from checks.domain.incidents.standing import TimesMistake, times_mistake
from checks.domain.writing import is_line, is_prose
from checks.models import Cluster, Incident, IncidentEvent, IncidentNode, Node
from checks.selectors.cost_of_waiting import gpu_prices
from checks.selectors.pages_access import ACTING_ROLES
from checks.services.ledger import write_entry
from checks.services.permissions import require_role

MOST_TOUCHED: Final = 1_000
LONGEST_HOSTNAME: Final = 253
LONGEST_PART: Final = 64
# Of one cluster at a time: two programs that tell of the same trouble at once make one incident of it.
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('countersign.incidents'), %s)"


_TIMES: Final = {
    TimesMistake.TO_COME: gettext_lazy("An incident lies in the past; correct the moment that is still to come."),
    TimesMistake.DETECTED_TOO_EARLY: gettext_lazy("It was detected before it started; correct one of the two moments."),
    TimesMistake.ENDED_TOO_EARLY: gettext_lazy("It ended before it started; correct one of the two moments."),
}


class IncidentRefused(CountersignError):
    """What was told of an incident cannot be kept as it is; the sentence says what to change."""

    code = "incident_refused"


class IncidentTimes(CountersignError):
    """The moments of an incident contradict each other."""

    code = "incident_times"


class CannotMove(CountersignError):
    """An incident or an action cannot go there from where it stands."""

    code = "cannot_move"
    status = 409


@dataclass(frozen=True, slots=True)
class Touched:
    """A machine by its host name, or a part of it such as ``gpu3``."""

    hostname: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Author:
    """Who acts: a person, or a program by the public part of its token; neither for the portal itself."""

    by: Any = None
    token: str = ""


#: The portal itself.
PORTAL: Final = Author()


def require_author(author: Author, cluster: Cluster) -> None:
    """Whether *author* works in *cluster*; programs were let in by their token.

    Raises:
        MayNot
    """
    if author.by is not None:
        require_role(author.by, cluster, ACTING_ROLES)


def require_order(started: datetime, detected: datetime | None, stable: datetime | None, *, now: datetime) -> None:
    """Whether an incident starts, is detected and ends in this order, and not in the future.

    Raises:
        IncidentTimes: in one sentence that names the moment to correct.
    """
    mistake = times_mistake(started, detected, stable, now=now)
    if mistake is not None:
        raise IncidentTimes(str(_TIMES[mistake]))


def lock_incidents(cluster: Cluster) -> None:
    """Have acts on the incidents of *cluster* queue up until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [cluster.pk])


def require_line(text: str, *, most: int, what: str) -> str:
    """*text* as one line of at most *most* signs that are all seen.

    Raises:
        IncidentRefused
    """
    told = " ".join(text.split()) if "\n" not in text else text.strip()
    if len(told) > most or not is_line(told):
        said = _("Write the %(what)s as one line of at most %(most)d characters, without control characters.")
        raise IncidentRefused(said % {"what": what, "most": most})
    return told


def require_text(text: str, *, most: int, what: str) -> str:
    """*text* of at most *most* signs, in lines.

    Raises:
        IncidentRefused
    """
    told = text.strip().replace("\r\n", "\n")
    if len(told) > most or not is_prose(told):
        said = _("Write the %(what)s in at most %(most)d characters, without control characters.")
        raise IncidentRefused(said % {"what": what, "most": most})
    return told


def add_event(
    incident: Incident,
    kind: EventKind,
    *,
    author: Author,
    now: datetime,
    at: datetime | None = None,
    text: str = "",
    data: Mapping[str, Any] | None = None,
    key: str = "",
) -> IncidentEvent:
    """Write a line of the timeline; *at* is when it happened, where that was not now."""
    return IncidentEvent.objects.create(
        incident=incident, cluster=incident.cluster, kind=kind.value, at=at or now, noted_at=now, by=author.by,
        token=author.token, text=text, data=dict(data or {}), key=key,
    )  # fmt: skip


def write_act(
    what: str, incident: Incident, *, author: Author, now: datetime, reason: str = "", data: Mapping[str, Any]
) -> None:
    """The act's entry in the ledger; the last thing that its transaction does."""
    told = dict(data) | ({"token": author.token} if author.token else {})
    write_entry(
        what=what, target=str(incident), who=author.by, cluster=incident.cluster, reason=reason, now=now, data=told
    )


def touch(incident: Incident, parts: Iterable[Touched]) -> list[IncidentNode]:
    """Note the machines and parts with their serials of now; returns those that are new to the incident.

    A host name that nobody enrolled is kept as it was told.

    Raises:
        IncidentRefused: too many of them, or a name that no machine has.
    """
    wanted = list(dict.fromkeys(parts))
    _require_names(wanted)
    return take_over(incident, wanted)


def take_over(incident: Incident, wanted: Sequence[Touched]) -> list[IncidentNode]:
    """The same of another incident's parts, however many: they were looked at when it was told of them."""
    nodes = {
        node.hostname: node
        for node in Node.objects.filter(cluster=incident.cluster, hostname__in={one.hostname for one in wanted})
    }
    known = set(incident.touched.values_list("hostname", "part"))
    rows = [_row(incident, one, nodes.get(one.hostname)) for one in wanted if (one.hostname, one.part) not in known]
    return IncidentNode.objects.bulk_create(rows)


def refresh(incident: Incident) -> None:
    """Work out anew what follows from the rest: its fingerprint, its price, and the words it is found by."""
    touched = list(incident.touched.all())
    incident.fingerprint = fingerprint_of(Component(incident.component), incident.error_class, serial_of(touched))
    if incident.usd_per_gpu_hour is None:
        price = gpu_prices([incident.cluster_id]).get(incident.cluster_id)
        incident.usd_per_gpu_hour = price.usd if price else None
    incident.terms = _terms(incident, touched)
    incident.save(update_fields=["fingerprint", "usd_per_gpu_hour", "terms"])


def serial_of(touched: Sequence[IncidentNode]) -> str:
    """The serial of the one part, else of the one machine, that an incident touched; empty where it touched more."""
    parts = {one.part_serial for one in touched}
    machines = {one.machine_serial for one in touched}
    if len(parts) == 1 and parts != {""}:
        return parts.pop()
    return machines.pop() if len(machines) == 1 else ""


def _terms(incident: Incident, touched: Sequence[IncidentNode]) -> str:
    texts = [str(incident), incident.title, incident.summary, incident.error_class, incident.component]
    texts += [incident.run.slug] if incident.run else []
    texts += [text for one in touched for text in (one.hostname, one.part, one.machine_serial, one.part_serial)]
    texts += incident.links.values_list("item", flat=True)
    texts += incident.events.exclude(text="").values_list("text", flat=True)
    return terms_of(*texts)


def _row(incident: Incident, one: Touched, node: Node | None) -> IncidentNode:
    serials = {slot: str(serial)[:128] for slot, serial in node.serials.items()} if node else {}
    return IncidentNode(
        incident=incident, node=node, hostname=one.hostname, part=one.part, serials=serials,
        machine_serial=serials.get("system", ""), part_serial=serials.get(one.part, "") if one.part else "",
    )  # fmt: skip


def _require_names(wanted: Sequence[Touched]) -> None:
    if len(wanted) > MOST_TOUCHED:
        raise IncidentRefused(_("Name at most %(most)d machines or parts of one incident.") % {"most": MOST_TOUCHED})
    for one in wanted:
        if not one.hostname or len(one.hostname) > LONGEST_HOSTNAME or not is_line(one.hostname):
            raise IncidentRefused(_("Name each machine by its host name."))
        if len(one.part) > LONGEST_PART or not is_line(one.part):
            raise IncidentRefused(_("Name a part as its node does, such as gpu3."))
