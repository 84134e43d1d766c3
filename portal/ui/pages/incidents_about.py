"""The newest incidents of one machine or one run, for its page."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse

from checks.models import Node, Run
from checks.selectors.incidents import newest_about
from checks.selectors.pages_access import ClusterAccess
from checks.selectors.runs import RunAccess
from portal.ui.pages.incidents import IncidentLine

MOST_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class IncidentsAbout:
    """The sheet; *rest* leads to all of them and *opening* to the form of a new one, empty where there is none."""

    lines: tuple[IncidentLine, ...]
    rest: str
    opening: str

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        return tuple((line.incident.pk, line.incident.standing, line.incident.occurrences) for line in self.lines)


def incidents_of_node(access: ClusterAccess, node: Node, *, now: datetime) -> IncidentsAbout | None:
    """Those that touched *node*; None where there is nothing to show and nothing to do."""
    return _about(node, access.cluster.slug, {"node": node.hostname}, {"nodes": node.hostname}, access.may_recheck, now)


def incidents_of_run(access: RunAccess, *, now: datetime) -> IncidentsAbout | None:
    """Those of the run, likewise."""
    run = access.run
    return _about(run, run.cluster.slug, {"run": run.slug}, {"run": run.slug}, access.may_reckon, now)


def _about(
    about: Node | Run, cluster: str, asked: Mapping[str, str], begun: Mapping[str, str], may_open: bool, now: datetime
) -> IncidentsAbout | None:
    found = newest_about(about, most=MOST_SHOWN + 1, now=now)
    if not found and not may_open:
        return None
    rest = f"{reverse('ui:incidents')}?{urlencode({'cluster': cluster} | dict(asked))}"
    opening = f"{reverse('ui:open_incident', args=[cluster])}?{urlencode(begun)}" if may_open else ""
    lines = tuple(map(IncidentLine.of, found[:MOST_SHOWN]))
    return IncidentsAbout(lines, rest if len(found) > MOST_SHOWN else "", opening)
