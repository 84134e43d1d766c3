"""Incidents as one person, or one program, may see them: looked up, searched, filtered, a page at a time."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from checks.domain.errors import CountersignError
from checks.domain.incidents.kinds import Standing
from checks.domain.incidents.search import query_of
from checks.models import Cluster, Incident, IncidentNode, Node, Precedent, Run, Token
from checks.selectors.incident_losses import with_losses
from checks.selectors.pages_access import ACTING_ROLES, clusters_of
from checks.selectors.roles import roles_of
from checks.selectors.run_rest import clusters_of_token

#: The most incidents in one page of a list.
PAGE: Final = 50
_LARGEST_NUMBER: Final = 2**63 - 1


class NoSuchIncident(CountersignError):
    """There is no such incident, or not for who asks."""

    code = "no_such_incident"
    status = 404

    def __init__(self, number: int) -> None:
        super().__init__(f"There is no incident {number} here; list those of the cluster first.")


@dataclass(frozen=True, slots=True)
class IncidentAccess:
    """One incident with ``lost_s``, and what one person is in its cluster."""

    incident: Any
    roles: frozenset[str]

    @property
    def may_act(self) -> bool:
        """Whether this person may change anything about it."""
        return bool(self.roles & ACTING_ROLES)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list is asked for; empty is everything. What was merged into another shows only where it is asked for."""

    text: str = ""
    cluster: str = ""
    standing: str = ""
    component: str = ""
    weight: str = ""
    item: str = ""
    relation: str = ""
    run: str = ""
    node: str = ""
    before: int | None = None


@dataclass(frozen=True, slots=True)
class IncidentPage:
    """Some incidents, newest first, each with ``lost_s``; *before* is what to ask for next, None at the end."""

    incidents: tuple[Any, ...]
    before: int | None = field(default=None)


def incident_for(user: Any, number: int, *, now: datetime) -> IncidentAccess:
    """The incident of that number as *user* sees it.

    Raises:
        NoSuchIncident: there is none, or not for this person.
    """
    found = _one(number, now)
    roles = roles_of(user, found.cluster) if found is not None else frozenset()
    if found is None or not roles:
        raise NoSuchIncident(number)
    return IncidentAccess(found, roles)


def incident_of_token(token: Token, number: int, *, now: datetime) -> Any:
    """The incident of that number, where *token* is bound to its cluster.

    Raises:
        NoSuchIncident: there is none, or not for this token.
    """
    found = _one(number, now)
    if found is None or not clusters_of_token(token).filter(pk=found.cluster_id).exists():
        raise NoSuchIncident(number)
    return found


def page_for(user: Any, wanted: Wanted, *, now: datetime) -> IncidentPage:
    """The newest incidents of the clusters that *user* sees, as far as they are *wanted*."""
    return _page(incidents_in([access.cluster.pk for access in clusters_of(user)], wanted), wanted, now)


def page_of_token(token: Token, wanted: Wanted, *, now: datetime) -> IncidentPage:
    """The same for a program."""
    return _page(incidents_in(clusters_of_token(token).values_list("pk", flat=True), wanted), wanted, now)


def newest_about(about: Node | Run, *, most: int, now: datetime) -> list[Any]:
    """The newest incidents of a run, or of a machine under whatever name, at most *most*, each with ``lost_s``."""
    if isinstance(about, Node):
        asked = Q(pk__in=IncidentNode.objects.filter(node=about).values("incident"))
    else:
        asked = Q(run=about)
    found = Incident.objects.filter(asked, cluster=about.cluster_id).exclude(standing=Standing.MERGED)
    return list(_shown(found.order_by("-id"), now)[:most])


def incidents_in(clusters: Collection[int] | QuerySet[Cluster, int], wanted: Wanted) -> QuerySet[Incident]:
    """Incidents of *clusters* (keys) that are *wanted*, newest first, of all pages."""
    found = Incident.objects.filter(cluster__in=list(clusters)).order_by("-id")
    if not wanted.standing:
        found = found.exclude(standing=Standing.MERGED)
    asked = {
        "cluster__slug": wanted.cluster, "standing": wanted.standing, "component": wanted.component,
        "weight": wanted.weight, "links__item": wanted.item, "run__slug": wanted.run,
    }  # fmt: skip
    given = {name: value for name, value in asked.items() if value}
    if wanted.item and wanted.relation:
        given["links__relation"] = wanted.relation
    found = found.filter(**given)
    if wanted.node:
        found = found.filter(pk__in=Incident.objects.filter(touched__hostname=wanted.node).values("pk"))
    return _matching(found, wanted.text)


def known_elsewhere(*, item: str = "") -> QuerySet[Precedent]:
    """What others told in public, all of it or what an item would have seen."""
    found = Precedent.objects.all()
    return found.filter(items__contains=[item]) if item else found


def _matching(found: QuerySet[Incident], text: str) -> QuerySet[Incident]:
    """Those that hold every word of *text*; a text without any word finds nothing."""
    if not text.strip():
        return found
    query = query_of(text)
    if not query:
        return found.none()
    # Words come from letters and digits alone (`query_of`), so this cast cannot fail; `to_tsquery` would cut them anew.
    return found.filter(RawSQL("checks_incident.search @@ %s::tsquery", [query], output_field=BooleanField()))


def _one(number: int, now: datetime) -> Any:
    if not 0 < number <= _LARGEST_NUMBER:
        return None
    found = Incident.objects.filter(pk=number, cluster__closed_at=None)
    return with_losses(found, now=now).select_related("cluster", "run", "opened_by", "merged_into").first()


def _page(found: QuerySet[Incident], wanted: Wanted, now: datetime) -> IncidentPage:
    if wanted.before is not None:
        found = found.filter(pk__lt=min(wanted.before, _LARGEST_NUMBER))
    rows = list(_shown(found, now)[: PAGE + 1])
    return IncidentPage(tuple(rows[:PAGE]), rows[PAGE - 1].pk if len(rows) > PAGE else None)


def _shown(found: QuerySet[Incident], now: datetime) -> QuerySet[Any]:
    """What a line of a list needs."""
    return with_losses(found, now=now).select_related("cluster", "run").defer("summary", "terms", "search")
