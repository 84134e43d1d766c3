"""What an item learned from incidents: how often it caught them, what escaped it, what another threshold would do."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from checks.domain.incidents.backtest import BackTest, Column, Counts, asks_for_more, movable
from checks.domain.items import Criterion
from checks.models import Cluster, ThresholdProposal
from checks.selectors.incident_backtest import Effect, Shadow, back_test, effect_of, open_proposals, shadow_of
from checks.selectors.incident_figures import Learned, learned_about
from portal.ui import figures
from portal.ui.criteria import Rules
from portal.ui.pages.incidents import IncidentLine

# The drawing's own units: wide enough for 24 columns, and legible at 390 pixels.
WIDTH, HEIGHT, BOTTOM, TOP, LEFT = 720.0, 220.0, 178.0, 34.0, 40.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One column of the drawing: where it stands, how high its two parts are, and how many samples it holds."""

    column: Column
    x: float
    width: float
    good_y: float
    good_height: float
    bad_y: float
    bad_height: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A threshold in the drawing; its number stands on the side where the other one is not."""

    x: float
    says: str
    anchor: str


@dataclass(frozen=True, slots=True)
class BackTestPage:
    """A back-test with the threshold in force and the one that is tried."""

    criterion: Criterion
    label: str
    unit: str
    sign: str
    test: BackTest
    in_force: float
    tried: float
    counts: Counts
    counts_tried: Counts
    bars: tuple[Bar, ...]
    mark: Mark
    mark_tried: Mark | None
    ticks: tuple[tuple[float, str], ...]
    best: float | None
    least: float
    most: float

    @property
    def samples(self) -> int:
        """Days of values of one subject each."""
        return self.test.good + self.test.before

    @property
    def is_moved(self) -> bool:
        """Whether another threshold is tried than the one in force."""
        return self.tried != self.in_force

    @property
    def says(self) -> str:
        """The drawing in a sentence."""
        said = _("%(label)s over %(n)s values; at %(in_force)s: %(alarms)d false alarms, %(misses)d misses")
        return said % {
            "label": self.label, "n": figures.number(self.samples), "in_force": self.shown(self.in_force),
            "alarms": self.counts.false_alarms, "misses": self.counts.misses,
        }  # fmt: skip

    def shown(self, value: float) -> str:
        """A value with its unit."""
        return figures.shown(value, self.unit)

    @property
    def shown_in_force(self) -> str:
        """The threshold in force with its sign and unit."""
        return f"{self.sign} {self.shown(self.in_force)}"

    @property
    def shown_tried(self) -> str:
        """The threshold that is tried, likewise."""
        return f"{self.sign} {self.shown(self.tried)}"

    @property
    def shown_best(self) -> str:
        """The measured value that judges fewest wrongly."""
        return "" if self.best is None else self.shown(self.best)


@dataclass(frozen=True, slots=True)
class ProposalLine:
    """A threshold in shadow: what it would do now, and how far its shadow has come."""

    proposal: ThresholdProposal
    says: str
    effect: Effect
    shadow: Shadow
    href: str


@dataclass(frozen=True, slots=True)
class LearningPage:
    """The part of an item's page that incidents make."""

    learned: Learned
    lines: tuple[IncidentLine, ...]
    proposals: tuple[ProposalLine, ...]
    test_href: str

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        return (
            [(line.incident.pk, line.incident.standing, line.incident.relation) for line in self.lines],
            [(line.proposal.pk, line.effect.changes, line.shadow) for line in self.proposals],
        )


def learning_of(cluster: Cluster, rules: Rules, *, now: datetime) -> LearningPage:
    """Collect it; an item whose threshold no number replaces has no back-test."""
    learned = learned_about(cluster.pk, rules.item.key, now=now)
    moves = movable(rules.item)
    return LearningPage(
        learned=learned,
        lines=tuple(map(IncidentLine.of, learned.incidents)),
        proposals=tuple(proposal_line(one, rules, now=now) for one in open_proposals(cluster, rules.item.key)),
        test_href=reverse("ui:back_test", args=[cluster.slug, rules.item.key]) if moves else "",
    )


def proposal_line(proposal: ThresholdProposal, rules: Rules, *, now: datetime) -> ProposalLine:
    """One proposal with its effect of now."""
    criterion = next((one for one in rules.item.criteria if one.fact == proposal.fact), None)
    sign = figures.sign(criterion.operator.value) if criterion else ""
    unit = rules.item.facts[proposal.fact].value if proposal.fact in rules.item.facts else ""
    before = "—" if proposal.before is None else figures.shown(proposal.before, unit)
    return ProposalLine(
        proposal=proposal,
        says=f"{rules.label(proposal.fact)}: {before} → {sign} {figures.shown(proposal.threshold, unit)}",
        effect=effect_of(proposal.cluster, proposal, now=now),
        shadow=shadow_of(proposal, now=now),
        href=reverse("ui:accept_threshold", args=[proposal.cluster.slug, proposal.pk]),
    )


def criterion_named(rules: Rules, fact: str) -> Criterion | None:
    """The criterion on *fact* that can be moved, the first one without a name; None where there is none."""
    moves = movable(rules.item)
    return next((one for one in moves if one.fact == fact or not fact), None)


def back_test_page(
    cluster: Cluster, rules: Rules, criterion: Criterion, tried: float | None, *, now: datetime
) -> BackTestPage:
    """Collect it for *tried*, or for the threshold in force."""
    test = back_test(cluster, rules.item.key, criterion, now=now)
    in_force = float(criterion.threshold)  # type: ignore[arg-type]
    chosen = in_force if tried is None else tried
    columns = test.columns(in_force)
    low, high = (columns[0].low, columns[-1].high) if columns else (in_force, in_force)
    place = _placer(low, high)
    return BackTestPage(
        criterion=criterion, label=rules.label(criterion.fact), unit=rules.item.facts[criterion.fact].value,
        sign=figures.sign(criterion.operator.value), test=test, in_force=in_force, tried=chosen,
        counts=test.at(in_force), counts_tried=test.at(chosen), bars=_bars(columns, place),
        mark=_mark(in_force, chosen, place), mark_tried=_mark(chosen, in_force, place) if chosen != in_force else None,
        ticks=tuple((place(value), figures.number(value)) for value in _ticks(columns)), best=test.best(), least=low,
        most=high,
    )  # fmt: skip


def _mark(value: float, other: float, place: Any) -> Mark:
    anchor = "middle" if value == other else "end" if value < other else "start"
    return Mark(place(value), figures.number(value), anchor)


def _placer(low: float, high: float) -> Any:
    """Value -> place across the drawing; what lies beyond its ends stands at them."""
    span = (high - low) or 1.0
    return lambda value: round(LEFT + (WIDTH - LEFT) * min(1.0, max(0.0, (value - low) / span)), 1)


def _bars(columns: tuple[Column, ...], place: Any) -> tuple[Bar, ...]:
    tallest = max((one.good + one.before for one in columns), default=0) or 1
    return tuple(_bar(one, place, (BOTTOM - TOP) / tallest) for one in columns)


def _bar(column: Column, place: Any, unit: float) -> Bar:
    """Samples from before an incident stand at the bottom; a single one can still be seen."""
    bad = max(3.0, column.before * unit) if column.before else 0.0
    good = max(1.5, column.good * unit) if column.good else 0.0
    left, right = place(column.low), place(column.high)
    return Bar(
        column, round(left + 1, 1), round(max(2.0, right - left - 2), 1), round(BOTTOM - bad - good, 1), round(good, 1),
        round(BOTTOM - bad, 1), round(bad, 1),
    )  # fmt: skip


def _ticks(columns: tuple[Column, ...]) -> list[float]:
    edges = [one.low for one in columns] + [columns[-1].high] if columns else []
    return edges[:: max(1, len(edges) // 5)]


def direction(page: BackTestPage) -> str:
    """Which side of a threshold fails, in a word."""
    return _("below it fails") if asks_for_more(page.criterion.operator) else _("above it fails")
