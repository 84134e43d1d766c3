"""The article's figures worked out: 100 checkpoints by every way, each claim judged, scenarios to begin with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from checks.domain.cost.estimating import estimate, gpu_hour
from checks.domain.cost.interruption import interruption_cost
from checks.domain.cost.job import HOUR_S, Job
from checks.domain.cost.money import LineItem, Range, exact
from checks.domain.cost.paths import egress_cost, every_route
from checks.domain.cost.prices import Book, PriceKind
from checks.domain.cost.ready_scenarios import READY
from checks.domain.cost.rehearsal import rehearsal_cost
from checks.domain.cost.scenario import Layout, Route, Scenario
from checks.domain.cost.sizes import as_gb, as_gib, checkpoint_bytes
from portal.ui.cost_words import ROUTES, SCENARIOS
from portal.ui.money import Span
from portal.ui.pages.cost_advice import Advice, advice_on
from portal.ui.what_if import query_for

CHECKPOINTS: Final = 100
PARAMETERS: Final = 13e9
#: As the article has it: 120 GB each, 0.10 USD a GB, 1,200 USD in all.
TOLD_GB: Final = Decimal(120)
SPOT_EXTRA_S: Final = 0.2
_LARGE: Final = Scenario(gpus=512, days=30)


@dataclass(frozen=True, slots=True)
class RouteCost:
    """One way of the checkpoints: what it costs at the article's size and at the usual one; None: no price."""

    title: str
    route: Route
    told: Decimal | None
    usual: Decimal | None
    span: Span | None
    is_unverified: bool
    elsewhere: tuple[Decimal | None, ...]


@dataclass(frozen=True, slots=True)
class ReadyScenario:
    """A scenario to begin with, what it comes to, and the address under which it is worked out."""

    title: str
    claim: str
    total: Range
    query: str


@dataclass(frozen=True, slots=True)
class ArticlePage:
    """Everything the template writes down; *others* name the books beside the first, in the order of ``elsewhere``."""

    book: Book
    others: tuple[str, ...]
    routes: tuple[RouteCost, ...]
    claims: tuple[Advice, ...]
    advice: tuple[Advice, ...]
    scenarios: tuple[ReadyScenario, ...]
    told_gb: Decimal
    usual_gb: Decimal

    def cost_of(self, route: Route) -> Decimal | None:
        """What the article's 12,000 GB cost by one way."""
        return next(one.told for one in self.routes if one.route is route)

    @property
    def internet(self) -> Decimal | None:
        """Out to the internet: the only way that comes near the article's sum."""
        return self.cost_of(Route.INTERNET)

    @property
    def same_region(self) -> Decimal | None:
        """Into the store beside the machines."""
        return self.cost_of(Route.SAME_REGION)


def article_page(book: Book, others: Sequence[Book]) -> ArticlePage:
    """Work all of it out by the prices of *book*, the article's own, with *others* beside it.

    Raises:
        PriceMissing: the book does not price the machines of the scenarios.
    """
    told = TOLD_GB * CHECKPOINTS
    usual = as_gb(checkpoint_bytes(PARAMETERS, Layout.ADAM_MASTER)) * CHECKPOINTS
    job = Job(_LARGE)
    return ArticlePage(
        book=book,
        others=tuple(one.name for one in others),
        routes=tuple(_routes(book, others, told, usual)),
        claims=tuple(_claims(book, told, gpu_hour(_LARGE, book))),
        advice=advice_on(_LARGE, book, job, gpu_hour(_LARGE, book)),
        scenarios=tuple(_ready(key, book) for key in READY),
        told_gb=told,
        usual_gb=usual,
    )


def _routes(book: Book, others: Sequence[Book], told: Decimal, usual: Decimal) -> Iterator[RouteCost]:
    region = _LARGE.region
    small, large = every_route(told, book, region=region), every_route(usual, book, region=region)
    beside = [every_route(told, one, region=_home(one)) for one in others]
    for route, line in small.items():
        amount = line.amount.expected if line else None
        yield RouteCost(
            title=str(ROUTES[route]),
            route=route,
            told=amount,
            usual=_amount(large[route]),
            span=Span.over(amount, amount, amount) if amount is not None else None,
            is_unverified=bool(line and any(not price.verified for price in line.prices)),
            elsewhere=tuple(_amount(found[route]) for found in beside),
        )


def _amount(line: LineItem | None) -> Decimal | None:
    return line.amount.expected if line else None


def _home(book: Book) -> str:
    """The region of the book out of which it knows a way to the internet."""
    rows = book.of(PriceKind.EGRESS_TIER)
    return next((row.region for row in rows if row.destination == Route.INTERNET), book.regions[0])


def _claims(book: Book, told: Decimal, price: Decimal) -> Iterator[Advice]:
    """What the article says, and what holds of it."""
    yield _size()
    yield _upload(book, told)
    yield _rate(book, told)
    yield _restart_tax(price)
    yield _rehearsal(price)


def _size() -> Advice:
    small, usual = (checkpoint_bytes(PARAMETERS, layout) for layout in (Layout.ADAM, Layout.ADAM_MASTER))
    said = _(
        "with fp16 weights and Adam's moments, 10 bytes a parameter: %(gb)s GB or %(gib)s GiB. The usual bf16 run "
        "keeps fp32 master weights too, 14 bytes: %(gb14)s GB or %(gib14)s GiB."
    )
    told = {
        "gb": f"{as_gb(small):,.0f}", "gib": f"{as_gib(small):,.0f}", "gb14": f"{as_gb(usual):,.0f}",
        "gib14": f"{as_gib(usual):,.1f}",
    }  # fmt: skip
    return Advice(_("A checkpoint of 13B is about 120 GB"), *_half(), said % told)


def _upload(book: Book, told: Decimal) -> Advice:
    out, beside = (
        egress_cost(told, route, book, region=_LARGE.region) for route in (Route.INTERNET, Route.SAME_REGION)
    )
    said = _(
        "an upload into the store of the same region is %(beside)s USD; out to the internet %(out)s USD, by tiers. "
        "The way decides, and not the store."
    )
    sums = {"beside": f"{beside.amount.expected:,.0f}", "out": f"{out.amount.expected:,.2f}"}
    return Advice(_("Uploading 100 of them costs 1,200 USD"), *_half(), said % sums)


def _rate(book: Book, told: Decimal) -> Advice:
    out = egress_cost(told, Route.INTERNET, book, region=_LARGE.region)
    said = _(
        "%(rate)s USD on average for %(gb)s GB to the internet: the first 100 GB are free, then prices fall by tiers."
    )
    sums = {"rate": f"{out.amount.expected / told:.4f}", "gb": f"{told:,.0f}"}
    return Advice(_("Egress is 0.10 USD a GB"), *_half(), said % sums)


def _restart_tax(price: Decimal) -> Advice:
    scenario = READY["spot_restart"]
    parts = interruption_cost(Job(scenario), price)
    first = scenario.gpus * price * exact(SPOT_EXTRA_S / HOUR_S)
    whole = Range.total(parts.values())
    said = _(
        "of a restart of %(gpus)d GPUs that costs %(whole)s USD, 200 ms are %(first)s USD. 50 steps would be %(steps)s "
        "USD, and are 0 where optimizer, scheduler and sampler are restored: if they are needed, it is a defect of the "
        "resume."
    )
    sums = {
        "gpus": scenario.gpus, "whole": f"{whole.expected:,.0f}", "first": f"{first:,.2f}",
        "steps": f"{parts['extra_steps'].high:,.0f}",
    }  # fmt: skip
    return Advice(_("Spot adds 200 ms and 50 warm-up steps to a restart"), *_half(), said % sums)


def _rehearsal(price: Decimal) -> Advice:
    cost = rehearsal_cost(gpus=_LARGE.gpus, price=price)
    said = _(
        "%(sum)s USD for all %(gpus)d GPUs over 72 hours; told before anybody starts one. A rehearsal on fewer nodes "
        "costs less and proves less."
    )
    sums = {"sum": f"{cost:,.0f}", "gpus": _LARGE.gpus}
    return Advice(_("Rehearse for 72 hours"), "warn", pgettext("advice", "costs"), said % sums)


def _half() -> tuple[str, str]:
    return "warn", pgettext("claim", "holds in part")


def _ready(key: str, book: Book) -> ReadyScenario:
    title, claim = SCENARIOS[key]
    return ReadyScenario(str(title), str(claim), estimate(READY[key], book).total, query_for(READY[key], book.provider))
