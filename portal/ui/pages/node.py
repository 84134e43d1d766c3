"""The page of one node: may it take a job, what stops it, what is known of each GPU, what happened."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from checks.domain.readiness import Answer
from checks.domain.verdicts import Layer
from checks.models import Cluster, Node, NodeReadiness
from checks.selectors.pages_access import ClusterAccess
from checks.selectors.pages_history import flips_of, gaps_of, rechecks_of
from checks.selectors.pages_node import rows_of_node
from checks.selectors.pages_verdicts import ShownState
from portal.ui import figures, words
from portal.ui.answers import node_sentence
from portal.ui.criteria import Rules
from portal.ui.decisions import Decisions, Serial, decisions_about, serials_of
from portal.ui.events import Event, newest, of_flips, of_gap, of_recheck
from portal.ui.lines import Line, counts_of, in_catalogue_order, lines_of, waits_for_start
from portal.ui.matrix import Count
from portal.ui.pages.links import LinksSheet, links_of_node
from portal.ui.recheck import Progress, progress_of
from portal.ui.subjects import subject_label

EVENTS = 12
# More are read than shown: eight GPUs that change alike share a line.
FLIPS = 100


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU at a glance: its worst verdict and what its link and temperature are."""

    label: str
    verdict: str
    lines: tuple[str, ...]

    @property
    def off(self) -> bool:
        """Whether it deviates, and so is washed in its verdict's colour."""
        return self.verdict not in ("pass", "na")


@dataclass(frozen=True, slots=True)
class LinesGroup:
    """Lines under one heading; the first group, what is not passing, has none. A *folded* one opens at a click."""

    key: str
    title: str
    lines: tuple[Line, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class LayerCounts:
    """Verdicts of one layer."""

    key: str
    counts: tuple[Count, ...]


@dataclass(frozen=True, slots=True)
class NodePage:
    """Everything the template writes down."""

    cluster: Cluster
    node: Node
    readiness: NodeReadiness
    profile: str
    decision: str
    sentence: str
    owner: str
    worst_href: str
    bad_since: datetime | None
    good_for_s: float
    row_count: int
    item_count: int
    counts: tuple[Count, ...]
    layers: tuple[LayerCounts, ...]
    layer: str
    layer_keys: tuple[str, ...]
    gpus: tuple[Gpu, ...]
    gpu_title: str
    groups: tuple[LinesGroup, ...]
    events: tuple[Event, ...]
    recheck: Progress | None
    serials: tuple[Serial, ...]
    decisions: Decisions
    links: LinksSheet | None

    @property
    def open_groups(self) -> list[LinesGroup]:
        """What everybody sees."""
        return [group for group in self.groups if not group.folded]

    @property
    def folded_groups(self) -> list[LinesGroup]:
        """What opens at a click."""
        return [group for group in self.groups if group.folded]

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of: everything that can change but ages."""
        return (
            self.decision, self.sentence, self.groups, self.counts, self.events[:1], self.recheck, self.node.trouble,
            self.readiness.last_report_at, self.decisions, self.node.retired_at, self.links,
        )  # fmt: skip


def node_page(
    *,
    access: ClusterAccess,
    node: Node,
    answer: Answer,
    rules: dict[str, Rules],
    layer: str,
    now: datetime,
) -> NodePage:
    """Collect the page; *layer* narrows the table of items only."""
    cluster, rows = access.cluster, in_catalogue_order(rows_of_node(node, now=now), rules)
    live = [row for row in rows if not row.shadow and row.item in rules]
    bad = [row for row in live if row.blocks == 2 or _stale_blocker(row)]
    lines = lines_of(rows, cluster=cluster, hostname=node.hostname, rules=rules, language=get_language() or "en")
    worst = next(iter(lines), None) if bad else None
    asked = rechecks_of(node, limit=EVENTS)
    profile = next(iter(rules.values())).profile
    return NodePage(
        cluster=cluster,
        node=node,
        readiness=node.readiness,
        profile=profile.key,
        decision=str(answer.decision),
        sentence=node_sentence(answer, worst),
        owner=_owner(answer, worst, rules),
        worst_href=worst.href if worst else "",
        bad_since=min((row.since for row in bad), default=_silent_since(node, now)),
        good_for_s=max(0.0, (answer.expires_at - now).total_seconds()) if answer.expires_at else 0.0,
        row_count=len(live),
        item_count=len({row.item for row in live}),
        counts=counts_of(live),
        layers=tuple(LayerCounts(key.value, counts_of(row for row in live if row.layer == key)) for key in Layer),
        layer=layer,
        layer_keys=tuple(key.value for key in Layer if any(row.layer == key for row in rows)),
        gpus=gpus_of(rows),
        gpu_title=profile.title(get_language() or "en"),
        groups=grouped([line for line in lines if not layer or rules[line.item].item.layer == layer]),
        events=_events(cluster, node, asked),
        recheck=progress_of(asked, rows, now=now),
        serials=serials_of(node),
        decisions=decisions_about(access, node, {row.subject for row in rows}, now=now),
        links=links_of_node(node, rules, now=now),
    )


def _owner(answer: Answer, worst: Line | None, rules: dict[str, Rules]) -> str:
    """Who cures it: the worst line's owner, else that of what is said of the whole node."""
    first = next(iter(answer.reasons), None)
    if worst is not None:
        return str(rules[worst.item].item.owner.value)
    return str(first.owner.value) if first else ""


def _silent_since(node: Node, now: datetime) -> datetime | None:
    """Since when nothing is known of a node without a bad row; None where something else speaks against it."""
    until = node.readiness.tick_until or node.enrolled_at
    return until if until < now else None


def _stale_blocker(row: ShownState) -> bool:
    return row.shown == "stale" and row.severity == "blocker" and not waits_for_start(row)


def grouped(lines: Sequence[Line]) -> tuple[LinesGroup, ...]:
    """What deviates first and without a heading, then passes and what waits for a start; the rest folded away."""
    live = [line for line in lines if not line.shadow]
    waiting = [line for line in live if line.waits]
    speaking = [line for line in live if not line.waits and line.verdict not in ("pass", "na")]
    passing = [line for line in live if line.verdict == "pass"]
    excused = [line for line in live if line.verdict == "na"]
    shadow = [line for line in lines if line.shadow]
    headed = (
        ("speaking", "", speaking, False),
        ("waiting", _("Not asked for until a start, stops no health answer"), waiting, False),
        ("passing", _("Passing"), passing, False),
        ("excused", _("Does not apply to this hardware"), excused, True),
        ("shadow", _("In shadow: judged where measured, blocks nothing"), shadow, True),
    )
    return tuple(
        LinesGroup(key, _counted(title, each) if title else "", tuple(each), folded)
        for key, title, each, folded in headed
        if each
    )


def gpus_of(rows: Sequence[ShownState]) -> tuple[Gpu, ...]:
    """The node's GPUs in order, each with its worst verdict over what is not in shadow."""
    subjects = sorted(
        {row.subject for row in rows if row.subject.startswith("gpu")}, key=lambda name: (len(name), name)
    )
    found = (_gpu(subject, [row for row in rows if row.subject == subject]) for subject in subjects)
    return tuple(gpu for gpu in found if gpu)


def _gpu(subject: str, rows: Sequence[ShownState]) -> Gpu | None:
    shown = {row.shown for row in rows if not row.shadow and not waits_for_start(row)}
    worst = next((verdict for verdict in words.WORST_FIRST if verdict in shown), None)
    if worst is None:
        return None
    facts: dict[str, Any] = {}
    for row in rows:
        facts.update(row.value.get("facts", {}))
    return Gpu(subject_label(subject), worst, tuple(_glance(facts)))


def _glance(facts: dict[str, Any]) -> list[str]:
    lines = []
    if "width" in facts:
        generation = f" · {_('gen')} {facts['generation']}" if "generation" in facts else ""
        lines.append(f"x{facts['width']}{generation}")
    if "temperature" in facts:
        lines.append(figures.shown(facts["temperature"], "celsius"))
    if "utilization" in facts:
        lines.append(_("%(percent)s busy") % {"percent": figures.shown(facts["utilization"], "percent")})
    return lines


def _counted(title: str, lines: Sequence[Line]) -> str:
    count = len(lines)
    return f"{title}: " + ngettext("%(n)d item", "%(n)d items", count) % {"n": count}


def _events(cluster: Cluster, node: Node, asked: Sequence[Any]) -> tuple[Event, ...]:
    flips = of_flips(cluster, node, flips_of(node, limit=FLIPS))
    gaps = [of_gap(cluster, gap) for gap in gaps_of(node, cadences=("tick", "daily"), limit=EVENTS)]
    return newest([*flips, *gaps, *map(of_recheck, asked)], EVENTS)
