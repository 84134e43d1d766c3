"""The page of one cluster: may a job start on it, which items hold on which nodes, which node is worst."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from checks.domain.items import Item
from checks.domain.readiness import Answer
from checks.domain.verdicts import RANK, Owner, Verdict
from checks.models import Cluster, Node
from checks.selectors.pages_cluster import MAX_COLUMNS, ClusterNode, Place, nodes_at, nodes_of, places_of
from checks.selectors.pages_crowd import Speaker, deviations, silent_at, speakers_of
from checks.selectors.pages_matrix import MatrixRow, read_node_verdicts
from checks.selectors.pages_summary import Reports, reports_of
from checks.selectors.pages_verdicts import ShownState
from checks.selectors.pages_worst import NodeLine, WorstNodes, worst_nodes
from portal.ui import words
from portal.ui.answers import Counted, cluster_sentence, count_answer
from portal.ui.criteria import Rules
from portal.ui.events import item_href
from portal.ui.lines import why
from portal.ui.matrix import Column, Count, Links, Matrix, WholeNodes, draw
from portal.ui.pages.links import LinksSheet, links_of_cluster
from portal.ui.pages.shared import SharedLine, shared_lines

WORST = 25


@dataclass(frozen=True, slots=True)
class WorstLine:
    """One node with something to say."""

    hostname: str
    counts: tuple[Count, ...]
    item: str
    subject: str
    what: str
    since: datetime | None
    last_report: datetime | None
    switch: str
    owner: str


@dataclass(frozen=True, slots=True)
class QuietItem:
    """An item that no node of a large cluster deviates in."""

    item: str
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What the nodes show: matrices, the worst of them, and the items left out of the matrix."""

    matrix: Matrix | None
    by_place: Matrix | None
    worst: WorstNodes
    quiet: tuple[QuietItem, ...] = ()


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
    quiet: tuple[QuietItem, ...]
    shared: tuple[SharedLine, ...]
    links: LinksSheet | None

    @property
    def by_place_class(self) -> str:
        """The matrix by place stands in for the other one on a narrow screen only."""
        return "narrow-only" if self.matrix else ""

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        minute = self.reports.newest and self.reports.newest.replace(second=0, microsecond=0)
        lines = [(line.hostname, line.counts, line.item, line.what) for line in self.worst]
        told = self.shared, self.links
        return self.decision, self.sentence, self.node_count, self.matrix, self.by_place, lines, minute, *told


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
    off = {*answer.not_ready_nodes, *answer.unknown_nodes}
    places = places_of(cluster, off, place=place)
    number = sum(each.nodes for each in places)
    look = _crowd if number > MAX_COLUMNS else _each
    seen = look(cluster, places, place=place, off=off, rules=rules, now=now)
    counted = count_answer(answer, failing)
    return ClusterPage(
        cluster=cluster,
        decision=str(answer.decision),
        sentence=cluster_sentence(answer, counted),
        counted=counted,
        reports=reports_of(cluster),
        place=place,
        node_count=number,
        matrix=seen.matrix,
        by_place=seen.by_place,
        worst=tuple(_worst_line(line, rules) for line in seen.worst.lines),
        worst_total=seen.worst.total,
        quiet=seen.quiet,
        shared=shared_lines(cluster, rules, now=now),
        links=links_of_cluster(cluster, rules, now=now),
    )


def _each(
    cluster: Cluster,
    places: Sequence[Place],
    *,
    place: str,
    off: set[str],
    rules: dict[str, Rules],
    now: datetime,
) -> Seen:
    """Every item on every node, and by place for a phone."""
    verdicts = read_node_verdicts(nodes_at(cluster, place), tuple(rules), now=now)
    worst = worst_nodes(verdicts, _items(rules), limit=WORST, now=now)
    if not places:
        return Seen(None, None, worst)
    nodes = nodes_of(cluster, place=place)
    by_node = verdicts.rows({node.id: node.hostname for node in nodes})
    by_place = verdicts.rows({node.id: node.place for node in nodes})
    return Seen(
        _by_node(cluster, nodes, by_node, off=off, rules=rules),
        _by_place(cluster, places, by_place, rules=rules),
        worst,
    )


def _crowd(
    cluster: Cluster,
    places: Sequence[Place],
    *,
    place: str,
    off: set[str],
    rules: dict[str, Rules],
    now: datetime,
) -> Seen:
    """Of more nodes than one can look at: what deviates, by place."""
    speakers = speakers_of(cluster, place=place, now=now)
    rows = [row for row in deviations(cluster, speakers, now=now) if row.item in rules]
    first = Node.objects.filter(id__in=[node.id for node in speakers[:WORST]])
    verdicts = read_node_verdicts(first, tuple(rules), now=now)
    lines = worst_nodes(verdicts, _items(rules), limit=WORST, now=now).lines
    named, language = {row.item for row in rows}, get_language() or "en"
    return Seen(
        None,
        _by_place(cluster, places, rows, rules=rules, silent=_silent(speakers, now=now)),
        WorstNodes(lines, len(speakers)),
        tuple(
            QuietItem(key, held.item.texts(language).title, _item_href(cluster, key))
            for key, held in rules.items()
            if key not in named
        ),
    )


def _item_href(cluster: Cluster, item: str) -> str:
    """The item's page; a key is a slug, so the address is looked up once and not for each of a hundred items."""
    return f"{_items_href(cluster.slug)}{item}/"


@cache
def _items_href(slug: str) -> str:
    return reverse("ui:item", args=[slug, "item"]).removesuffix("item/")


def _silent(speakers: Sequence[Speaker], *, now: datetime) -> list[WholeNodes]:
    return [
        WholeNodes(_("%(cadence)s evidence") % {"cadence": words.CADENCES_SHORT[cadence]}, "#wf", places)
        for cadence, places in sorted(silent_at(speakers, now=now).items(), reverse=True)
    ]


def _items(rules: dict[str, Rules]) -> dict[str, Item]:
    return {key: held.item for key, held in rules.items()}


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
        item=partial(_item_href, cluster),
        cell=lambda item, hostname: item_href(cluster, hostname, item),
    )
    return draw(
        title=_("Items on nodes"),
        hint=_("a quiet cell passes; a shape is a link to its value"),
        columns=columns,
        rows=rows,
        items=_items(rules),
        links=links,
        language=get_language() or "en",
    )


def _by_place(
    cluster: Cluster,
    places: Sequence[Place],
    rows: Sequence[MatrixRow],
    *,
    rules: dict[str, Rules],
    silent: Sequence[WholeNodes] | None = None,
) -> Matrix:
    here = reverse("ui:cluster", args=[cluster.slug])
    links = Links(
        item=partial(_item_href, cluster),
        cell=lambda item, place: f"{here}?{urlencode({'place': place})}",
    )
    drawn = _("only what deviates is drawn: a shape, and on how many nodes; follow it to the nodes of that switch")
    return draw(
        title=_("Items by switch"),
        hint=drawn
        if silent is not None
        else _("a shape and how many nodes show it; follow it to the nodes of that switch"),
        columns=[
            Column(each.key, "", links.cell("", each.key), nodes=each.nodes, off=each.off > 0, counted=True)
            for each in places
        ],
        rows=rows,
        items=_items(rules),
        links=links,
        language=get_language() or "en",
        silent=silent,
    )


def _worst_line(line: NodeLine, rules: dict[str, Rules]) -> WorstLine:
    row = None if line.node.trouble else line.row
    held = rules.get(row.item) if row else None
    return WorstLine(
        hostname=line.node.hostname,
        counts=tuple(Count(verdict, line.counts[key]) for key, verdict in _worst_first(line)),
        item=row.item if row else "",
        subject=row.subject if row else "",
        what=_what(row, held) if row else str(words.REASONS.get(line.node.trouble, "")),
        since=row.since if row else None,
        last_report=line.node.readiness.last_report_at,
        switch=line.node.switch,
        owner=held.item.owner.value if held else Owner.HARDWARE.value,
    )


def _what(row: ShownState, held: Rules | None) -> str:
    measured = held.measured([row.value]) if held else ""
    needed = held.needed(row.value) if held else ""
    if row.shown in ("fail", "warn") and measured and needed:
        return _("%(measured)s, needs %(needed)s") % {"measured": measured, "needed": needed}
    return why(row)


def _worst_first(line: NodeLine) -> list[tuple[Verdict, str]]:
    return [(verdict, verdict.value) for verdict in sorted(line.counts, key=RANK.__getitem__)]
