"""Price books, rates, scenarios, estimates and bills, as they stand."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from checks.domain.cost.actual import Cause, Comparison, compare
from checks.domain.cost.base_rates import BaseRate
from checks.domain.cost.currency import Rate
from checks.domain.cost.money import Estimate
from checks.domain.cost.prices import Book, Price, PriceKind
from checks.domain.cost.scenario import Layout, Scenario
from checks.domain.cost.sizes import BYTES
from checks.domain.cost.wire import read_estimate, read_scenario
from checks.domain.errors import CountersignError
from checks.models import ActualCost, Cluster, CostScenario, CurrencyRate, PriceBook, Run, RunEvidence, Token
from checks.models import BaseRate as BaseRateRow
from checks.models import Estimate as EstimateRow
from checks.selectors.hardware_counts import gpus_per_node
from checks.selectors.pages_access import clusters_of
from checks.selectors.run_rest import clusters_of_token

_DAY_S = 86_400
_CHECKPOINT_AUDIT = "audit checkpoint"


class NoPrices(CountersignError):
    """Nothing can be priced before a price book is loaded, or the provider has none."""

    code = "no_prices"
    status = 404

    def __init__(self, provider: str = "") -> None:
        told = f"There is no price book of {provider!r}" if provider else "No price book is loaded"
        super().__init__(f"{told}; run: manage.py prices load --yes, or import your own.")


class NoSuchEstimate(CountersignError):
    """There is no such estimate, or not for who asks."""

    code = "no_such_estimate"
    status = 404

    def __init__(self, number: int) -> None:
        super().__init__(f"There is no estimate {number}; list those of the run first.")


def books() -> tuple[Book, ...]:
    """The newest book of each provider: two statements."""
    newest = PriceBook.objects.order_by("provider", "-as_of", "-id").distinct("provider")
    return tuple(book_of(row) for row in newest.prefetch_related("rows"))


def book_named(provider: str) -> Book:
    """The newest book of one provider.

    Raises:
        NoPrices
    """
    found = newest_book(provider)
    if found is None:
        raise NoPrices(provider)
    return found


def newest_book(provider: str) -> Book | None:
    """The newest book of one provider, if it has any."""
    row = PriceBook.objects.filter(provider=provider).prefetch_related("rows").first()
    return None if row is None else book_of(row)


def book_of(row: PriceBook) -> Book:
    """A stored book as the domain has it."""
    rows = tuple(
        Price(
            kind=PriceKind(one.kind), region=one.region, amount=one.amount, as_of=one.as_of, source=one.source,
            verified=one.verified, provider=row.provider, destination=one.destination, sku=one.sku,
            from_gb=one.from_gb, to_gb=one.to_gb, note=one.note,
        )
        for one in sorted(row.rows.all(), key=lambda one: one.pk)
    )  # fmt: skip
    return Book(provider=row.provider, name=row.name, as_of=row.as_of, source=row.source, rows=rows, note=row.note)


def base_rates() -> tuple[BaseRate, ...]:
    """The newest of each published failure rate, the lowest first."""
    rows = BaseRateRow.objects.order_by("key", "-as_of", "-id").distinct("key")
    found = (
        BaseRate(
            key=row.key, name=row.name, per_1000_node_days=row.per_1000_node_days, counted=row.counted,
            as_of=row.as_of, source=row.source, verified=row.verified,
        )
        for row in rows
    )  # fmt: skip
    return tuple(sorted(found, key=lambda rate: rate.per_1000_node_days))


def currency_rates() -> dict[str, Rate]:
    """The newest rate of each currency, by its three letters."""
    rows = CurrencyRate.objects.order_by("currency", "-as_of", "-id").distinct("currency")
    return {
        row.currency: Rate(row.currency, row.per_usd, as_of=row.as_of, source=row.source, verified=row.verified)
        for row in rows
    }


def scenarios_of(run: Run) -> tuple[CostScenario, ...]:
    """The newest scenario of each name that is kept with the run, in the order of names."""
    return tuple(CostScenario.objects.filter(run=run).order_by("name", "-id").distinct("name"))


def scenarios_of_cluster(cluster: Cluster) -> tuple[CostScenario, ...]:
    """The newest scenario of each name that is kept with the cluster and with none of its runs."""
    kept = CostScenario.objects.filter(cluster=cluster, run=None)
    return tuple(kept.order_by("name", "-id").distinct("name"))


def scenario_of(row: CostScenario) -> Scenario:
    """A stored scenario as the domain has it.

    Raises:
        ImpossibleInput: it was written by a portal whose bounds were wider.
    """
    return read_scenario(row.inputs)


def measured_checkpoint_gb(run: Run) -> Decimal | None:
    """GB of the run's largest checkpoint, as the newest ``audit checkpoint`` walked it; None: nobody did."""
    newest = RunEvidence.objects.filter(run=run, tool=_CHECKPOINT_AUDIT).order_by("-observed_at", "-id").first()
    facts = newest.facts if newest else []
    gib = next((fact["value"] for fact in facts if fact["name"] == "checkpoint_size"), None)
    return None if not gib else round(Decimal(str(gib)) * 2**30 / 10**9, 6)


def starting_scenario(run: Run) -> Scenario:
    """What is known of the run already: its GPUs, days, model and bytes a parameter, and how large a checkpoint of it
    really is; the rest is default."""
    per_node = gpus_per_node(run.cluster)
    known: dict[str, Any] = {
        "gpus": max(run.nodes_needed * per_node, 1),
        "gpus_per_node": max(per_node, 1),
        "days": (run.planned_end - run.planned_start).total_seconds() / _DAY_S,
    }
    if run.parameters:
        known |= _size_of(run, run.parameters)
    measured = measured_checkpoint_gb(run)
    return Scenario(**(known | ({"checkpoint_gb": measured} if measured else {})))


def _size_of(run: Run, parameters: int) -> dict[str, Any]:
    """The layout that the run's bytes a parameter name, else the size that they make; gradients are not saved."""
    held = sum(value for part, value in run.bytes_per_parameter.items() if part != "gradients")
    layouts = {size: layout for layout, size in BYTES.items()}
    if not held or held in layouts:
        return {"parameters": float(parameters), "layout": layouts.get(held, Layout.ADAM_MASTER)}
    return {"parameters": float(parameters), "checkpoint_gb": Decimal(str(held)) * parameters / 10**9}


def estimates_of(run: Run) -> tuple[EstimateRow, ...]:
    """The run's frozen estimates, newest first, with their bills."""
    found = EstimateRow.objects.filter(run=run).select_related("scenario", "by").prefetch_related("actuals")
    return tuple(found)


def estimate_for(user: Any, number: int) -> EstimateRow:
    """One frozen estimate of a cluster in which *user* has a role.

    Raises:
        NoSuchEstimate
    """
    return _estimate_in((access.cluster.pk for access in clusters_of(user)), number)


def estimate_of_token(token: Token, number: int) -> EstimateRow:
    """One frozen estimate of a cluster that *token* is bound to.

    Raises:
        NoSuchEstimate
    """
    return _estimate_in(clusters_of_token(token).values_list("pk", flat=True), number)


def bill_of(row: EstimateRow) -> ActualCost | None:
    """The newest bill that was read in against the estimate."""
    return next(iter(row.actuals.all()), None)


def comparison_of(row: EstimateRow) -> Comparison | None:
    """The newest bill against the estimate; None: none was read in."""
    bill = bill_of(row)
    if bill is None:
        return None
    billed: defaultdict[Cause, Decimal] = defaultdict(Decimal)
    billed.update({Cause(cause): Decimal(amount) for cause, amount in bill.billed.items()})
    return compare(estimate_in(row), billed)


def estimate_in(row: EstimateRow) -> Estimate:
    """The estimate as it was frozen."""
    return read_estimate(row.document)


def _estimate_in(clusters: Iterable[int], number: int) -> EstimateRow:
    found = EstimateRow.objects.select_related("scenario", "run", "cluster").filter(cluster__in=list(clusters))
    row = found.filter(pk=number).first()
    if row is None:
        raise NoSuchEstimate(number)
    return row
