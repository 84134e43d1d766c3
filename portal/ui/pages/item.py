"""The pages of one item: on one node, and over all nodes of a cluster."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from checks.domain.items import Criterion, Item, Texts
from checks.domain.units import Kind
from checks.domain.verdicts import NODE_HELD, Cadence, Source, Verdict
from checks.models import Cluster, Evidence, Node, NodeReadiness
from checks.selectors.pages_access import ClusterAccess
from checks.selectors.pages_history import flips_of, gaps_of, rechecks_of
from checks.selectors.pages_item import ItemCounts, Spread, item_counts, item_over_nodes, item_rows
from checks.selectors.pages_node import evidence_of, rows_of_item
from checks.selectors.pages_verdicts import ShownState
from portal.ui import figures, times, words
from portal.ui.criteria import CriterionLine, Rules
from portal.ui.events import Event, newest, of_flips, of_gap, of_recheck
from portal.ui.lines import Line, alike, line_of, load_of, load_said, why
from portal.ui.matrix import Count
from portal.ui.pages.blocked import ItemMoney, blocks, money_of_item
from portal.ui.recheck import Progress, progress_of
from portal.ui.sentences import closed, joined
from portal.ui.subjects import subject_label

EVENTS = 12
FLIPS = 100
# A page holds so many nodes, fewer where each has many parts.
NODES_A_PAGE, ROWS_A_PAGE = 50, 200


@dataclass(frozen=True, slots=True)
class RulesInForce:
    """The threshold panel: what is in force, and where every number comes from."""

    in_force: tuple[CriterionLine, ...]
    profile: str
    override: str
    severity: str
    cadence: str
    settle: int
    version: str
    catalog_version: str


@dataclass(frozen=True, slots=True)
class Load:
    """How much of a proof under load there is."""

    seconds: int
    needed: int
    says: str


@dataclass(frozen=True, slots=True)
class NodeItemPage:
    """One item on one node."""

    cluster: Cluster
    node: Node
    readiness: NodeReadiness
    item: Item
    texts: Texts
    describes: str
    row: ShownState
    question: str
    verdict: str
    headline: str
    sentence: str
    settled_says: str
    load: Load | None
    others: ItemCounts
    others_says: str
    criteria: tuple[CriterionLine, ...]
    subjects: tuple[Line, ...]
    rules: RulesInForce
    evidence: Evidence | None
    events: tuple[Event, ...]
    recheck: Progress | None
    recheck_refused: bool
    money: ItemMoney

    @property
    def measured_at(self) -> datetime | None:
        """When it was last measured."""
        return self.row.measured_at

    @property
    def good_until(self) -> datetime | None:
        """When this evidence ends."""
        return self.row.good_until if self.row.observed_at else None

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        return (
            self.verdict, self.headline, self.sentence, self.settled_says, self.load, self.others, self.criteria,
            self.subjects, self.events[:1], self.recheck, self.row.measured_at, self.money,
        )  # fmt: skip


def node_item_page(
    *, access: ClusterAccess, node: Node, rules: Rules, subject: str | None, now: datetime
) -> NodeItemPage | None:
    """Collect the page for *subject*, or for the worst one; None where the node has no row of the item."""
    rows = rows_of_item(node, rules.item.key, now=now)
    row = (
        next((each for each in rows if each.subject == subject), None)
        if subject is not None
        else next(iter(rows), None)
    )
    if row is None:
        return None
    language, item, cluster = get_language() or "en", rules.item, access.cluster
    asked, others = rechecks_of(node, item=item.key, limit=EVENTS), item_counts(cluster, item.key, now=now)
    return NodeItemPage(
        cluster=cluster,
        node=node,
        readiness=node.readiness,
        item=item,
        texts=item.texts(language),
        describes=describes(item, language),
        row=row,
        question=_question(node, row),
        verdict=row.shown,
        headline=rules.headline(row.value),
        sentence=_sentence(row, rules),
        settled_says=_settled(row, item),
        load=_load(row),
        others=others,
        others_says=counted(others),
        criteria=tuple(rules.lines(row.value)),
        subjects=_subjects(rows, row, cluster=cluster, node=node, rules=rules, language=language),
        rules=rules_in_force(rules, row.value),
        evidence=evidence_of(row),
        events=_events(cluster, node, row, asked),
        recheck=progress_of(asked, rows, now=now),
        recheck_refused=not _measurable(item),
        money=money_of_item(cluster, item, nodes=int(blocks(item, Verdict(row.shown))), roles=access.roles),
    )


@dataclass(frozen=True, slots=True)
class SpreadSaid:
    """The fourth readout: how values spread, or that they cannot."""

    title: str
    middle: str
    range: str


@dataclass(frozen=True, slots=True)
class ItemPage:
    """One item over all nodes."""

    cluster: Cluster
    item: Item
    texts: Texts
    describes: str
    verdict: str
    headline: str
    sentence: str
    passing: int
    total: int
    counted: str
    counts: tuple[Count, ...]
    spread: SpreadSaid
    lines: tuple[Line, ...]
    only: str
    number: int
    pages: int
    rules: RulesInForce
    money: ItemMoney

    @property
    def previous(self) -> str:
        """Query of the page before."""
        return self._query(self.number - 1)

    @property
    def next(self) -> str:
        """Query of the page after."""
        return self._query(self.number + 1)

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        return (
            self.verdict,
            self.sentence,
            self.counts,
            self.spread,
            [(line.href, line.verdict, line.value) for line in self.lines],
            self.money,
        )

    def _query(self, number: int) -> str:
        return urlencode({"verdict": self.only, "page": number} if self.only else {"page": number})


def item_page(*, access: ClusterAccess, rules: Rules, only: str, number: str, now: datetime) -> ItemPage:
    """Collect the page; *only* keeps the rows with one verdict."""
    language, item, cluster = get_language() or "en", rules.item, access.cluster
    criterion = _numeric(item)
    over, shown = item_over_nodes(cluster, item.key, criterion.fact if criterion else "", now=now), _verdict(only)
    most = min(NODES_A_PAGE, max(1, ROWS_A_PAGE // max(1, rules.profile.expected(item.scope))))
    paginator = Paginator(over.nodes(shown), most)
    page, counts = paginator.get_page(number), over.counts
    rows = item_rows(list(page), item.key, only=shown, now=now)
    verdict = next(iter(counts.nodes), Verdict.UNKNOWN).value
    return ItemPage(
        cluster=cluster,
        item=item,
        texts=item.texts(language),
        describes=describes(item, language),
        verdict=verdict,
        headline=_headline(counts, verdict),
        sentence=_over_nodes(counts) if counts.nodes else _held_by_none(item),
        passing=counts.passing,
        total=counts.total,
        counted=counted(counts) if counts.nodes else _("no node to count"),
        counts=tuple(Count(key.value, held) for key, held in counts.nodes.items()),
        spread=_spread(over.spread, criterion, rules),
        lines=tuple(_lines(list(rows), cluster=cluster, rules=rules, language=language)),
        only=only,
        number=page.number,
        pages=paginator.num_pages,
        rules=rules_in_force(rules, {}),
        money=money_of_item(cluster, item, nodes=_blocked_by(item, counts), roles=access.roles),
    )


def describes(item: Item, language: str) -> str:
    """Title, layer, flow, severity and cadence on one line."""
    parts = (
        item.texts(language).title, words.LAYERS[item.layer], words.FLOWS[item.flow], words.SEVERITIES[item.severity],
        words.CADENCES[item.cadence],
    )  # fmt: skip
    return " · ".join(str(part) for part in parts)


def rules_in_force(rules: Rules, value: Mapping[str, Any]) -> RulesInForce:
    """The threshold panel's contents."""
    item = rules.item
    return RulesInForce(
        in_force=tuple(line for line in rules.lines(value) if line.mandatory),
        profile=rules.profile.key,
        override=rules.override_says(),
        severity=item.severity.value,
        cadence=item.cadence.value,
        settle=item.settle,
        version=item.version,
        catalog_version=rules.catalogue.version,
    )


def counted(counts: ItemCounts) -> str:
    """Nodes that do not pass, by verdict."""
    rest = [(verdict, number) for verdict, number in counts.nodes.items() if verdict is not Verdict.PASS]
    return ", ".join(f"{number} {words.VERDICTS[verdict.value]}" for verdict, number in rest) or _("all nodes pass")


def _question(node: Node, row: ShownState) -> str:
    where = f"{node.hostname} {subject_label(row.subject)}" if row.subject else node.hostname
    return _("Does it hold on %(where)s?") % {"where": where}


def _sentence(row: ShownState, rules: Rules) -> str:
    """What stands below the value: why it is what it is."""
    if row.observed_at is None and row.raw == "na":
        return _("This hardware does not have what the item is about: the profile says so.")
    if row.observed_at is None:
        return _("It has never been measured here, so nothing is proved: an unknown blocks as a failure does.")
    said, needs = why(row), rules.needed(row.value)
    needed = _("It needs %(needs)s.") % {"needs": needs} if needs and row.value.get("facts") else ""
    if row.shown == "stale":
        said = _("The last value was good, but it was measured too long ago to count.")
    elif row.shown == "pass":
        said = joined([_("It holds."), _proved(row)])
    elif row.shown == "na":
        said = _("It does not apply here: what was measured says so.")
    return joined([closed(said), needed])


def _proved(row: ShownState) -> str:
    evidence = row.value.get("load", {}).get("evidence")
    if not evidence or not evidence["proved"]:
        return ""
    at = datetime.fromtimestamp(evidence["at"], UTC)
    return _("Proved under load on %(at)s UTC.") % {"at": times.absolute_time(at, now=at)}


def _settled(row: ShownState, item: Item) -> str:
    if row.pending:
        counted_so_far = {"n": row.settle_count, "of": item.settle, "verdict": words.VERDICTS[row.pending]}
        return _("settling as %(verdict)s: %(n)d of %(of)d") % counted_so_far
    if row.settled:
        return _("settled as %(verdict)s") % {"verdict": words.VERDICTS[row.settled]}
    return _("not yet settled")


def _load(row: ShownState) -> Load | None:
    load = load_of(row)
    return Load(load[0], load[1], load_said(row)) if load else None


def _subjects(
    rows: Sequence[ShownState], current: ShownState, *, cluster: Cluster, node: Node, rules: Rules, language: str
) -> tuple[Line, ...]:
    order = sorted(rows, key=lambda row: (len(row.subject), row.subject))
    return tuple(
        line_of([row], cluster=cluster, hostname=node.hostname, rules=rules, language=language, current=row is current)
        for row in order
    )


def _events(cluster: Cluster, node: Node, row: ShownState, asked: Sequence[Any]) -> tuple[Event, ...]:
    flips = of_flips(cluster, node, flips_of(node, item=row.item, limit=FLIPS))
    gaps = [of_gap(cluster, gap) for gap in gaps_of(node, cadences=(row.cadence,), limit=EVENTS)]
    return newest([*flips, *gaps, *map(of_recheck, asked)], EVENTS)


def _lines(rows: Sequence[ShownState], *, cluster: Cluster, rules: Rules, language: str) -> Iterator[Line]:
    """Rows in their order; neighbours of one node that say the same share a line."""
    for (hostname, *_same), group in groupby(rows, key=lambda row: (row.node.hostname, *alike(row))):
        yield line_of(list(group), cluster=cluster, hostname=hostname, rules=rules, language=language)


def _blocked_by(item: Item, counts: ItemCounts) -> int:
    return sum(number for verdict, number in counts.nodes.items() if blocks(item, verdict))


def _measurable(item: Item) -> bool:
    return (
        item.source is Source.PROBE and not item.shadow and item.cadence in (Cadence.TICK, Cadence.DAILY, Cadence.START)
    )


def _headline(counts: ItemCounts, verdict: str) -> str:
    if not counts.nodes:
        return _("Nothing known")
    if verdict == "pass":
        return _("Yes")
    number = counts.nodes[Verdict(verdict)]
    said = ngettext("%(verdict)s on %(n)d node", "%(verdict)s on %(n)d nodes", number)
    headline = said % {"n": number, "verdict": words.VERDICTS[verdict]}
    return headline[:1].upper() + headline[1:]


def _over_nodes(counts: ItemCounts) -> str:
    return _("Of %(total)d nodes: %(counted)s.") % {"total": counts.total, "counted": counted(counts)}


def _held_by_none(item: Item) -> str:
    if item.scope in NODE_HELD:
        return _("No node of this cluster has a row of this item.")
    return _("No node holds it: what is known of it stands on the page of each run that needs it.")


def _numeric(item: Item) -> Criterion | None:
    """The first criterion about a number: the values it is held against can be compared."""
    return next((one for one in item.criteria if item.facts[one.fact].kind is Kind.NUMBER), None)


def _verdict(text: str) -> Verdict | None:
    return Verdict(text) if text else None


def _spread(spread: Spread | None, criterion: Criterion | None, rules: Rules) -> SpreadSaid:
    if criterion is None or spread is None:
        return SpreadSaid(_("Spread"), "—", _("no number to compare"))
    unit = rules.item.facts[criterion.fact].value
    ends = {"least": figures.number(spread.least), "greatest": figures.shown(spread.greatest, unit)}
    title = _("%(fact)s, middle value") % {"fact": rules.label(criterion.fact)}
    return SpreadSaid(title, figures.shown(spread.middle, unit), _("%(least)s to %(greatest)s") % ends)
