"""The part of a page that tells how the links between nodes are: bad nodes and links by name, with both ends."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import get_language

from checks.domain.verdicts import ROLL_UP_ORDER
from checks.models import Cluster, Node
from checks.selectors.links import ITEM
from checks.selectors.pages_links import LinkRow, TrialRow, link_rows, trials_of_node
from portal.ui.criteria import Rules
from portal.ui.details import detail_said
from portal.ui.matrix import Count

#: Lines that the page of a cluster shows; all are counted.
WORST = 25


@dataclass(frozen=True, slots=True)
class LinkLine:
    """One node or one link."""

    ends: tuple[str, ...]
    verdict: str
    value: str
    needs: str
    why: str
    measured_at: datetime | None


@dataclass(frozen=True, slots=True)
class LinksSheet:
    """What the template writes down; *trials* only on the page of a node."""

    item: str
    title: str
    counts: tuple[Count, ...]
    lines: tuple[LinkLine, ...]
    total: int
    trials: tuple[TrialRow, ...] = ()


def links_of_cluster(cluster: Cluster, rules: dict[str, Rules], *, now: datetime) -> LinksSheet | None:
    """Who and what is not sound, worst first; nothing before the first trial."""
    rows = link_rows(cluster, now=now) if ITEM in rules else []
    return _sheet(rules[ITEM], rows, [row for row in rows if row.verdict not in ("pass", "na")]) if rows else None


def links_of_node(node: Node, rules: dict[str, Rules], *, now: datetime) -> LinksSheet | None:
    """The node itself, its links that were ever bad, and its trials; nothing before the first."""
    rows = link_rows(node.cluster, node, now=now) if ITEM in rules else []
    found = trials_of_node(node, now=now) if ITEM in rules else []
    trials = tuple(replace(trial, problem=detail_said(trial.problem)) for trial in found)
    return _sheet(rules[ITEM], rows, rows, trials) if rows or trials else None


def _sheet(held: Rules, rows: list[LinkRow], told: list[LinkRow], trials: tuple[TrialRow, ...] = ()) -> LinksSheet:
    found = Counter(row.verdict for row in rows)
    return LinksSheet(
        item=ITEM,
        title=held.item.texts(get_language() or "en").title,
        counts=tuple(Count(verdict, found[verdict]) for verdict in ROLL_UP_ORDER if found[verdict]),
        lines=tuple(_line(held, row) for row in told[:WORST]),
        total=len(told),
        trials=trials,
    )


def _line(held: Rules, row: LinkRow) -> LinkLine:
    is_measured = bool(row.value.get("facts"))
    return LinkLine(
        ends=row.ends,
        verdict=row.verdict.value,
        value=held.measured([row.value]) if is_measured else "",
        needs=held.needed(row.value) if is_measured else "",
        why="" if row.reason in ("", "criterion") else detail_said(row.detail),
        measured_at=row.measured_at,
    )
