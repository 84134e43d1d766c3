"""What a what-if comes to: its lines with their ranges, its parts, its best interval, and what it says about advice."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from checks.domain.cost.estimating import estimate, gpu_hour
from checks.domain.cost.interruption import interruption_cost
from checks.domain.cost.intervals import DAY_S
from checks.domain.cost.job import HOUR_S, Job
from checks.domain.cost.money import Estimate, Input, LineItem, Part, Range
from checks.domain.cost.prices import Book, Price
from checks.domain.cost.scenario import Scenario
from checks.domain.cost.sizes import as_gb, as_gib, checkpoint_bytes
from checks.domain.cost.waiting import Waiting, waiting
from portal.ui.cost_words import LINES, PARTS
from portal.ui.money import Span
from portal.ui.pages.cost_advice import Advice, advice_on
from portal.ui.pages.cost_curve import Curve, curve_of

# Colours of parts; a part keeps its colour from one bar to the next.
SWATCHES = 7
_DETAILED = frozenset({Part.INTERRUPTIONS, Part.SPOT})


@dataclass(frozen=True, slots=True)
class LineShown:
    """One line of the sum, with what it was made of. *before* is what it comes to in the what-if it is held against."""

    key: str
    title: str
    amount: Range
    formula: str
    inputs: tuple[Input, ...]
    prices: tuple[Price, ...]
    span: Span
    before: Decimal | None
    is_part_of_more: bool = False

    @property
    def difference(self) -> Decimal | None:
        """By how much it is dearer than before."""
        return None if self.before is None else self.amount.expected - self.before

    @property
    def as_of(self) -> date | None:
        """The day of the oldest price in it."""
        return min((price.as_of for price in self.prices), default=None)

    @property
    def is_unverified(self) -> bool:
        """Whether a price in it was never checked against its source."""
        return any(not price.verified for price in self.prices)


@dataclass(frozen=True, slots=True)
class PartShown:
    """One colour of the stacked bars."""

    title: str
    swatch: int
    amount: Range
    before: Decimal | None


@dataclass(frozen=True, slots=True)
class Sum:
    """One what-if with everything that follows from it."""

    scenario: Scenario
    book: Book
    job: Job
    estimate: Estimate
    waiting: Waiting
    interruption: Range

    @classmethod
    def of(cls, scenario: Scenario, book: Book) -> "Sum":
        """Work it out.

        Raises:
            ImpossibleInput, PriceMissing.
        """
        job, price = Job(scenario), gpu_hour(scenario, book)
        return cls(
            scenario=scenario,
            book=book,
            job=job,
            estimate=estimate(scenario, book),
            waiting=waiting(gpus=scenario.gpus, usd_per_gpu_hour=price),
            interruption=Range.total(interruption_cost(job, price).values()),
        )

    @property
    def total(self) -> Range:
        """Everything."""
        return self.estimate.total

    @property
    def unpriced(self) -> str:
        """Parts that the price book has no row for; the total lacks them."""
        return ", ".join(str(PARTS[part]).lower() for part in self.estimate.unpriced)

    @property
    def price(self) -> Decimal:
        """US dollars a GPU hour."""
        return self.waiting.usd_per_gpu_hour

    @property
    def ettr(self) -> float:
        """The expected share of time that trains, in per cent."""
        return 100 * self.job.ettr[1]

    @property
    def calendar_days(self) -> tuple[float, float, float]:
        """How long it takes, low, expected, high."""
        few, expected, many = (world.calendar_days for world in self.job.worlds)
        return few, expected, many

    @property
    def failures(self) -> float:
        """Interruptions that are expected, taken-back spot nodes among them."""
        return self.job.worlds[1].failures + self.job.worlds[1].spot_losses

    @property
    def mttf_h(self) -> float:
        """Hours between two of them."""
        return self.job.mttf_s(1) / HOUR_S

    @property
    def interruption_min(self) -> float:
        """Minutes that one of them takes, the work done again among them."""
        return (self.job.restart_s(1) + self.job.interval_s / 2) / 60

    @property
    def checkpoint_gib(self) -> Decimal:
        """The same checkpoint as file systems show it."""
        return as_gib(int(self.job.checkpoint_gb * 10**9))

    @property
    def formula_gb(self) -> Decimal:
        """What a checkpoint would be by parameters and layout, whatever was measured."""
        return as_gb(checkpoint_bytes(self.scenario.parameters, self.scenario.layout))

    @property
    def checkpoints_a_day(self) -> float:
        """How many are written in a day of training."""
        return DAY_S / self.job.interval_s


@dataclass(frozen=True, slots=True)
class CostsPage:
    """Everything the templates write down."""

    sum: Sum
    kept: Sum | None
    lines: tuple[LineShown, ...]
    parts: tuple[PartShown, ...]
    curve: Curve
    advice: tuple[Advice, ...]
    is_aged: bool
    book_age_days: int

    @property
    def on_top(self) -> Range:
        """What comes on top of the days of training."""
        return Range.total(part.amount for part in self.parts)

    @property
    def on_top_before(self) -> Decimal:
        """The same of the what-if it is held against."""
        return sum((part.before or Decimal(0) for part in self.parts), Decimal(0))

    @property
    def difference(self) -> Decimal:
        """By how much this is dearer than what it is held against."""
        return self.sum.total.expected - self.kept.total.expected if self.kept else Decimal(0)


def costs_page(scenario: Scenario, book: Book, *, kept: Sum | None, today: date) -> CostsPage:
    """Collect the page.

    Raises:
        ImpossibleInput, PriceMissing.
    """
    this = Sum.of(scenario, book)
    return CostsPage(
        sum=this,
        kept=kept,
        lines=tuple(lines_of(this.estimate, kept.estimate if kept else None)),
        parts=tuple(_parts(this, kept)),
        curve=curve_of(scenario, this.job),
        advice=advice_on(scenario, book, this.job, this.price),
        is_aged=book.is_aged(today),
        book_age_days=(today - book.as_of).days,
    )


def lines_of(made: Estimate, before: Estimate | None = None) -> Iterator[LineShown]:
    """The lines of an estimate in their order; of interruptions first their sum."""
    summed: set[Part] = set()
    for line in made.lines:
        if line.part in _DETAILED:
            if line.part not in summed:
                summed.add(line.part)
                yield _sum_line(made, line.part, before)
            yield _line(line, before, is_part_of_more=True)
        else:
            yield _line(line, before)


def _line(line: LineItem, before: Estimate | None, *, is_part_of_more: bool = False) -> LineShown:
    amount = line.amount
    return LineShown(
        key=line.key,
        title=str(LINES.get(line.key, line.key)),
        amount=amount,
        formula=line.formula,
        inputs=line.inputs,
        prices=line.prices,
        span=Span.over(amount.low, amount.expected, amount.high),
        before=_before(before, line.key),
        is_part_of_more=is_part_of_more,
    )


def _sum_line(made: Estimate, part: Part, before: Estimate | None) -> LineShown:
    amount = made.part(part)
    return LineShown(
        key=part.value,
        title=str(PARTS[part.value]),
        amount=amount,
        formula="",
        inputs=(),
        prices=(),
        span=Span.over(amount.low, amount.expected, amount.high),
        before=None if before is None else before.part(part).expected,
    )


def _before(before: Estimate | None, key: str) -> Decimal | None:
    if before is None:
        return None
    return sum((line.amount.expected for line in before.lines if line.key == key), Decimal(0))


def _parts(this: Sum, kept: Sum | None) -> Iterator[PartShown]:
    """What comes on top of the days of training; those days would leave no room for anything else."""
    present = [part for part in Part if part in this.estimate.parts or (kept and part in kept.estimate.parts)]
    on_top = [part for part in present if part is not Part.TRAINING]
    for number, part in enumerate(on_top):
        before = kept.estimate.part(part).expected if kept else None
        yield PartShown(str(PARTS[part.value]), number % SWATCHES + 1, this.estimate.part(part), before)
