"""The list of incidents: what is asked for, what was found, and the figures of all of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from checks.domain.incidents.kinds import Component, Standing, Weight
from checks.domain.incidents.losses import HOUR_S, money_lost
from checks.selectors.incident_figures import Figures, figures_of
from checks.selectors.incident_losses import with_losses
from checks.selectors.incidents import Wanted, incidents_in, page_for
from checks.selectors.pages_access import ClusterAccess, clusters_of

_FIELDS = ("q", "cluster", "standing", "component", "weight", "item", "relation", "run", "node")
CSV_HEAD = (
    "incident", "cluster", "run", "step", "title", "standing", "weight", "component", "error_class", "started_at",
    "detected_at", "stable_at", "closed_at", "occurrences", "gpus_affected", "lost_gpu_hours", "lost_usd", "source",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class IncidentLine:
    """One incident of a list, with what it lost."""

    incident: Any
    usd: Decimal | None

    @classmethod
    def of(cls, incident: Any) -> "IncidentLine":
        """*incident* has ``lost_s``."""
        return cls(incident, money_lost(incident.lost_s, incident.usd_per_gpu_hour))


@dataclass(frozen=True, slots=True)
class IncidentsPage:
    """The page; *older* is the query of what comes after its lines, empty at the end."""

    wanted: Wanted
    lines: tuple[IncidentLine, ...]
    accesses: tuple[ClusterAccess, ...]
    older: str
    query: str

    @property
    def is_filtered(self) -> bool:
        """Whether something else than everything is asked for."""
        return bool(self.query)

    @property
    def openable(self) -> list[ClusterAccess]:
        """Clusters in which this person may open an incident."""
        return [access for access in self.accesses if access.may_recheck]

    @property
    def standings(self) -> list[str]:
        """What an incident can be."""
        return [one.value for one in Standing]

    @property
    def components(self) -> list[str]:
        """What can have broken."""
        return [one.value for one in Component]

    @property
    def weights(self) -> list[str]:
        """How bad it can have been."""
        return [one.value for one in Weight]


def incidents_page(user: Any, query: QueryDict, *, now: datetime) -> IncidentsPage:
    """Collect it."""
    wanted, asked = wanted_of(query), asked_of(query)
    page = page_for(user, wanted, now=now)
    return IncidentsPage(
        wanted=wanted, lines=tuple(map(IncidentLine.of, page.incidents)), accesses=clusters_of(user),
        older=urlencode(asked | {"before": page.before}) if page.before else "", query=urlencode(asked),
    )  # fmt: skip


def head_figures(page: IncidentsPage, *, now: datetime) -> Figures:
    """The figures of all clusters of the reader, or of the one that is asked for; other filters leave them alone."""
    counted = [one.cluster.pk for one in page.accesses if page.wanted.cluster in ("", one.cluster.slug)]
    return figures_of(counted, now=now)


def asked_of(query: QueryDict) -> dict[str, str]:
    """What an address asks for, without what it leaves open."""
    return {name: str(query[name]) for name in _FIELDS if query.get(name)}


def wanted_of(query: QueryDict) -> Wanted:
    """The same for the selector; a page that no address leads to is the first one."""
    asked = asked_of(query)
    before = query.get("before", "")
    return Wanted(
        text=asked.pop("q", "")[:200], before=int(before) if before.isascii() and before.isdigit() else None, **asked
    )


def csv_records(user: Any, query: QueryDict, *, now: datetime) -> Iterator[tuple[str, ...]]:
    """Every incident that is asked for, of all pages."""
    clusters = [access.cluster.pk for access in clusters_of(user)]
    found = with_losses(incidents_in(clusters, wanted_of(query)), now=now).select_related("cluster", "run")
    for one in found.defer("summary", "terms", "search").iterator(chunk_size=2000):
        line = IncidentLine.of(one)
        yield (
            str(one), one.cluster.slug, one.run.slug if one.run else "", _text(one.step), one.title, one.standing,
            one.weight, one.component, one.error_class, _iso(one.started_at), _iso(one.detected_at),
            _iso(one.stable_at), _iso(one.closed_at), str(one.occurrences), _text(one.gpus_affected),
            "" if one.lost_s is None else f"{one.lost_s / HOUR_S:.3f}", "" if line.usd is None else f"{line.usd:.2f}",
            one.source,
        )  # fmt: skip


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _iso(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""
