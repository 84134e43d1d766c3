"""What is often advised, judged by the figures of one what-if."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from checks.domain.cost.errors import ImpossibleInput, PriceMissing
from checks.domain.cost.estimating import moved_gb
from checks.domain.cost.job import HOUR_S, Job
from checks.domain.cost.paths import egress_cost
from checks.domain.cost.prices import Book
from checks.domain.cost.scenario import Route, Scenario
from checks.domain.cost.spot import compare_spot
from checks.domain.cost.warm_pool import warm_pool
from checks.domain.cost.window import judge_window

POOL_NODES, WINDOW_H = 4, 2.0
_EXPECTED = 1


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice: *verdict* gives its shape, *word* says it."""

    title: str
    verdict: str
    word: str
    says: str


def advice_on(scenario: Scenario, book: Book, job: Job, price: Decimal) -> tuple[Advice, ...]:
    """Every piece that can be judged with what the book prices."""
    return tuple(_judged(scenario, book, job, price))


def _judged(scenario: Scenario, book: Book, job: Job, price: Decimal) -> Iterator[Advice]:
    for judge in (_acceleration, _spot, _pool):
        try:
            yield judge(scenario, book, job)
        except (ImpossibleInput, PriceMissing):
            continue
    yield _window(scenario, job, price)
    yield _billing(scenario, price)
    yield Advice(
        "--no_python", "fail", _no_help(), _("a flag of the launcher: it starts the same processes, at the same price.")
    )


def pays(worth: bool) -> tuple[str, str]:
    """Shape and word for something that pays, or does not."""
    return ("pass", pgettext("advice", "pays")) if worth else ("fail", pgettext("advice", "does not pay"))


def _no_help() -> str:
    return pgettext("advice", "saves nothing")


def _acceleration(scenario: Scenario, book: Book, job: Job) -> Advice:
    gb = moved_gb(job)
    line = egress_cost(gb, Route.ACCELERATED, book, region=scenario.region)
    said = _(
        "it adds %(sum)s USD for %(gb)s GB, on top of what the way costs; inside one region there is nothing to gain."
    )
    told = {"sum": f"{line.amount.expected:,.0f}", "gb": f"{gb:,.0f}"}
    return Advice(_("Accelerated upload"), "fail", pgettext("advice", "adds"), said % told)


def _spot(scenario: Scenario, book: Book, job: Job) -> Advice:
    found = compare_spot(scenario, book)
    said = _(
        "the price falls to %(price).0f %%, the time that trains to %(time).1f %%: %(spot)s against %(own)s USD. "
        "Whether a deadline holds is another question."
    )
    told = {
        "price": 100 * float(found.price_ratio), "time": 100 * found.ettr_ratio,
        "spot": f"{found.spot.total.expected:,.0f}", "own": f"{found.on_demand.total.expected:,.0f}",
    }  # fmt: skip
    return Advice(_("Spot machines only"), *pays(found.worth), said % told)


def _pool(scenario: Scenario, book: Book, job: Job) -> Advice:
    nodes = scenario.warm_nodes or POOL_NODES
    found = warm_pool(scenario, book, nodes)
    said = _(
        "%(cost)s USD for idle spares against %(saved)s USD of waiting that they save; "
        "a failure comes every %(hours).0f h."
    )
    told = {
        "cost": f"{found.cost:,.0f}", "saved": f"{found.saved:,.0f}", "hours": job.mttf_s(_EXPECTED) / HOUR_S,
    }  # fmt: skip
    return Advice(_("Warm pool of %(n)d") % {"n": nodes}, *pays(found.worth), said % told)


def _window(scenario: Scenario, job: Job, price: Decimal) -> Advice:
    hours = scenario.window_h_a_day or WINDOW_H
    lost_s = job.restart_s(_EXPECTED) + job.interval_s / 2
    found = judge_window(
        gpus=scenario.gpus, price=price, nodes=job.nodes, hours_a_day=hours, rate=job.rate(_EXPECTED), lost_s=lost_s
    )
    said = _(
        "%(share).1f %% of the capacity, %(cost)s USD a day; "
        "every failure it could prevent costs %(failures)s USD a day."
    )
    told = {"share": 100 * found.share, "cost": f"{found.cost:,.0f}", "failures": f"{found.failures:,.0f}"}
    title = _("%(run)g + %(stop)g window") % {"run": 24 - hours, "stop": hours}
    return Advice(title, *pays(found.can_pay), said % told)


def _billing(scenario: Scenario, price: Decimal) -> Advice:
    said = _("billing begins with the machine, not with torchrun: each hour before the first step is %(sum)s USD.")
    told = {"sum": f"{scenario.gpus * price:,.0f}"}
    return Advice(_("Starting late"), "warn", pgettext("advice", "costs"), said % told)
