"""The page of one cluster: may a job start on it, which items hold on which nodes, which node is worst."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from checks.domain.readiness import Answer
from checks.domain.verdicts import RANK, Verdict
from checks.models import Cluster, ScopeState
from checks.selectors.pages_cluster import (
    MAX_COLUMNS,
    ClusterNode,
    nodes_of,
    shared_states,
)
from checks.selectors.pages_matrix import MatrixRow, NodeVerdicts, read_node_verdicts
from checks.selectors.pages_summary import Reports, reports_of
from checks.selectors.pages_worst import NodeLine, worst_nodes
from portal.ui.answers import Counted, cluster_sentence, count_answer
from portal.ui.criteria import Rules
from portal.ui.events import item_href
from portal.ui.lines import why
from portal.ui.matrix import Column, Count, Links, Matrix, draw

WORST = 50


@dataclass(frozen=True, slots=True)
class WorstLine:
    """One node with something to say."""

    hostname: str
    counts: tuple[Count, ...]
    item: str
    subject: str
    what: str
    since: datetime
    last_report: datetime | None
    switch: str
    owner: str


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """Everything the template writes down."""

    cluster: Cluster
    decision: str
    sentence: str
    counted: Counted
    reports: Reports
    place: str
    node_count: int
    matrix: Matrix | None
    by_place: Matrix | None
    worst: tuple[WorstLine, ...]
    worst_total: int
    shared: tuple[ScopeState, ...]

    @property
    def by_place_class(self) -> str:
        """The matrix by place stands in for the other one on a narrow screen only."""
        return "narrow-only" if self.matrix else ""

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        minute = self.reports.newest and self.reports.newest.replace(second=0, microsecond=0)
        lines = [(line.hostname, line.counts, line.item, line.what) for line in self.worst]
        return self.decision, self.sentence, self.node_count, self.matrix, self.by_place, lines, minute


def cluster_page(
    *,
    cluster: Cluster,
    answer: Answer,
    failing: Collection[str],
    rules: dict[str, Rules],
    place: str,
    now: datetime,
) -> ClusterPage:
    """Collect the page; *place* narrows matrix and list to one switch or rack."""
    nodes = nodes_of(cluster, place=place)
    off = {*answer.not_ready_nodes, *answer.unknown_nodes}
    verdicts = read_node_verdicts(cluster, tuple(rules), place=place, now=now)
    matrix, by_place = _matrices(cluster, nodes, verdicts, off=off, rules=rules)
    items = {key: held.item for key, held in rules.items()}
    worst, counted = worst_nodes(verdicts, items, limit=WORST, now=now), count_answer(answer, failing)
    return ClusterPage(
        cluster=cluster,
        decision=str(answer.decision),
        sentence=cluster_sentence(answer, counted),
        counted=counted,
        reports=reports_of(cluster),
        place=place,
        node_count=len(nodes),
        matrix=matrix,
        by_place=by_place,
        worst=tuple(_worst_line(line, rules) for line in worst.lines),
        worst_total=worst.total,
        shared=tuple(state for state in shared_states(cluster) if state.item in rules),
    )


def _matrices(
    cluster: Cluster, nodes: Sequence[ClusterNode], verdicts: NodeVerdicts, *, off: set[str], rules: dict[str, Rules]
) -> tuple[Matrix | None, Matrix | None]:
    """Node by node where that is readable, and by place: what is shown on a phone, or instead."""
    if not nodes:
        return None, None
    rows = verdicts.rows({node.id: node.place for node in nodes})
    by_place = _by_place(cluster, nodes, rows, off=off, rules=rules)
    if len(nodes) > MAX_COLUMNS:
        return None, by_place
    rows = verdicts.rows({node.id: node.hostname for node in nodes})
    return _by_node(cluster, nodes, rows, off=off, rules=rules), by_place


def _by_node(
    cluster: Cluster, nodes: Sequence[ClusterNode], rows: Sequence[MatrixRow], *, off: set[str], rules: dict[str, Rules]
) -> Matrix:
    columns = [
        Column(
            node.hostname, node.place, reverse("ui:node", args=[cluster.slug, node.hostname]), off=node.hostname in off
        )
        for node in nodes
    ]
    links = Links(
        item=lambda item: reverse("ui:item", args=[cluster.slug, item]),
        cell=lambda item, hostname: item_href(cluster, hostname, item),
    )
    return draw(
        title=_("Items on nodes"),
        hint=_("a quiet cell passes; a shape is a link to its value"),
        columns=columns,
        rows=rows,
        items={key: held.item for key, held in rules.items()},
        links=links,
        language=get_language() or "en",
    )


def _by_place(
    cluster: Cluster, nodes: Sequence[ClusterNode], rows: Sequence[MatrixRow], *, off: set[str], rules: dict[str, Rules]
) -> Matrix:
    members: dict[str, list[ClusterNode]] = {}
    for node in nodes:
        members.setdefault(node.place, []).append(node)
    here = reverse("ui:cluster", args=[cluster.slug])
    columns = [
        Column(
            key=place,
            place="",
            href=f"{here}?{urlencode({'place': place})}",
            nodes=len(inside),
            off=any(node.hostname in off for node in inside),
            counted=True,
        )
        for place, inside in members.items()
    ]
    links = Links(
        item=lambda item: reverse("ui:item", args=[cluster.slug, item]),
        cell=lambda item, place: f"{here}?{urlencode({'place': place})}",
    )
    return draw(
        title=_("Items by switch"),
        hint=_("a shape and how many nodes show it; follow it to the nodes of that switch"),
        columns=columns,
        rows=rows,
        items={key: held.item for key, held in rules.items()},
        links=links,
        language=get_language() or "en",
    )


def _worst_line(line: NodeLine, rules: dict[str, Rules]) -> WorstLine:
    row = line.row
    held = rules.get(row.item)
    measured = held.measured([row.value]) if held else ""
    needed = held.needed(row.value) if held else ""
    value = (
        _("%(measured)s, needs %(needed)s") % {"measured": measured, "needed": needed} if measured and needed else ""
    )
    return WorstLine(
        hostname=line.node.hostname,
        counts=tuple(Count(verdict, line.counts[key]) for key, verdict in _worst_first(line)),
        item=row.item,
        subject=row.subject,
        what=value if row.shown in ("fail", "warn") and value else why(row),
        since=row.since,
        last_report=line.node.readiness.last_report_at,
        switch=line.node.switch,
        owner=held.item.owner.value if held else "",
    )


def _worst_first(line: NodeLine) -> list[tuple[Verdict, str]]:
    return [(verdict, verdict.value) for verdict in sorted(line.counts, key=RANK.__getitem__)]
