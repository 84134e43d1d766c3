"""Scenarios are kept, estimates frozen with their prices, and bills held against them."""

from datetime import timedelta
from decimal import Decimal

import pytest

from checks.domain.cost.actual import Cause, Level
from checks.domain.cost.bills import BillUnreadable
from checks.domain.cost.errors import ImpossibleInput, PriceMissing
from checks.domain.cost.scenario import Layout, Route, Scenario
from checks.domain.cost.wire import scenario_json
from checks.models import Cluster, CostScenario, Estimate, LedgerEntry, Role, Run
from checks.selectors.costs import (
    NoPrices,
    NoSuchEstimate,
    comparison_of,
    estimate_for,
    estimate_in,
    estimates_of,
    scenario_of,
    scenarios_of,
    starting_scenario,
)
from checks.services.costs import (
    BillReadAlready,
    NoScenarioName,
    freeze_estimate,
    import_actual,
    price_cluster,
    save_scenario,
)
from checks.services.permissions import MayNot, ReasonMissing
from checks.services.price_books import load_book
from tests.domain.cost.pricing import SHIPPED, book, price
from tests.lab import NOON, healthy_node, lab
from tests.people import person
from tests.runs import a_run

pytestmark = pytest.mark.django_db

PLAN = Scenario(gpus=16, days=10, route=Route.INTERNET, checkpoints_moved=100)


@pytest.fixture
def cluster() -> Cluster:
    made = lab()
    for name in ("gpu001", "gpu002", "gpu003"):
        healthy_node(made, name)
    load_book(book=SHIPPED["aws"], confirmed=False, by=None, now=NOON)
    return made


@pytest.fixture
def run(cluster: Cluster) -> Run:
    return a_run(cluster, "gpu[001-003]")


def kept(run: Run, scenario: Scenario = PLAN, name: str = "first") -> CostScenario:
    return save_scenario(
        cluster=run.cluster, run=run, name=name, scenario=scenario, provider="aws", by=run.owner, now=NOON
    )


def frozen(run: Run) -> Estimate:
    return freeze_estimate(scenario=kept(run), by=run.owner, now=NOON)


def test_a_scenario_comes_back_as_it_was_kept_and_stands_in_the_ledger(run: Run) -> None:
    saved = kept(run)

    assert scenario_of(saved) == PLAN
    entry = LedgerEntry.objects.get(what="scenario_saved")
    assert (entry.target, entry.data) == ("run-7", {"scenario": "first"})


def test_the_newest_scenario_of_a_name_counts(run: Run) -> None:
    kept(run)
    newer = kept(run, PLAN.with_changes(days=20))
    kept(run, name="another")

    assert [one.name for one in scenarios_of(run)] == ["another", "first"]
    assert scenarios_of(run)[1] == newer


def test_what_cannot_be_costed_is_not_kept(run: Run) -> None:
    with pytest.raises(ImpossibleInput):
        kept(run, PLAN.with_changes(gpus=0))
    with pytest.raises(PriceMissing):
        kept(run, PLAN.with_changes(region="moon-1"))
    with pytest.raises(NoScenarioName):
        kept(run, name="  ")
    assert not CostScenario.objects.exists()


def test_a_provider_without_prices_says_how_to_load_them(run: Run) -> None:
    with pytest.raises(NoPrices, match="prices load"):
        save_scenario(cluster=run.cluster, run=run, name="x", scenario=PLAN, provider="gcp", by=run.owner, now=NOON)


def test_an_estimate_keeps_its_prices_when_the_book_changes(run: Run) -> None:
    before = frozen(run)
    rows = tuple(
        price(row.kind, "7.00", sku=row.sku, region=row.region) if row.sku == "p5.48xlarge" else row
        for row in SHIPPED["aws"].rows
        if row.region == "us-east-1"
    )
    newer = book(*rows)
    load_book(
        book=type(newer)("aws", newer.name, newer.as_of + timedelta(days=1), newer.source, rows), confirmed=True,
        by=None, now=NOON,
    )  # fmt: skip
    after = freeze_estimate(scenario=before.scenario, by=run.owner, now=NOON)

    kept_prices = {one.name: one.amount for one in estimate_in(Estimate.objects.get(pk=before.pk)).prices}
    assert kept_prices["gpu_hour us-east-1 p5.48xlarge"] == Decimal("6.88")
    assert after.expected > before.expected
    assert estimates_of(run) == (after, before)


def test_a_frozen_estimate_adds_up_to_what_its_row_says(run: Run) -> None:
    row = frozen(run)

    assert round(estimate_in(row).total.expected, 2) == Estimate.objects.get(pk=row.pk).expected


def test_a_bill_is_compared_by_cause(run: Run) -> None:
    row = frozen(run)
    compute = sum(
        (line.amount.expected for line in estimate_in(row).lines if line.key not in ("egress", "storage", "requests")),
        Decimal(0),
    )
    bill = f"cause,amount\ncompute,{compute * Decimal('1.2'):.2f}\negress,0.50\n"
    import_actual(frozen=row, text=bill, file_name="november.csv", by=run.owner, now=NOON)

    found = comparison_of(row)
    assert found is not None
    assert (found.causes[0].cause, found.causes[0].level) == (Cause.COMPUTE, Level.AMBER)


def test_the_same_file_is_read_in_once(run: Run) -> None:
    row, bill = frozen(run), "cause,amount\ncompute,20000\n"
    import_actual(frozen=row, text=bill, file_name="a.csv", by=run.owner, now=NOON)

    with pytest.raises(BillReadAlready):
        import_actual(frozen=row, text=bill, file_name="b.csv", by=run.owner, now=NOON)
    assert row.actuals.count() == 1


@pytest.mark.parametrize("amount", ["1", "900000000"])
def test_a_bill_of_another_run_is_refused(run: Run, amount: str) -> None:
    with pytest.raises(BillUnreadable, match="check that it is this run's bill"):
        import_actual(
            frozen=frozen(run), text=f"cause,amount\ncompute,{amount}\n", file_name="a.csv", by=run.owner, now=NOON
        )


def test_a_viewer_and_a_stranger_keep_nothing(run: Run) -> None:
    for who in (person("viewer", run.cluster, Role.VIEWER), person("stranger")):
        with pytest.raises(MayNot):
            save_scenario(cluster=run.cluster, name="x", scenario=PLAN, provider="aws", by=who, now=NOON)


def test_a_strangers_estimate_is_not_there(run: Run) -> None:
    row = frozen(run)

    assert estimate_for(run.owner, row.pk) == row
    with pytest.raises(NoSuchEstimate):
        estimate_for(person("stranger"), row.pk)


def test_a_lead_says_what_a_gpu_hour_costs_and_where_that_is_from(cluster: Cluster) -> None:
    lead = person("lead", cluster, Role.LEAD)
    with pytest.raises(ReasonMissing):
        price_cluster(cluster=cluster, amount=Decimal(2), reason=" ", by=lead, now=NOON)
    with pytest.raises(ImpossibleInput):
        price_cluster(cluster=cluster, amount=Decimal(0), reason="contract", by=lead, now=NOON)
    with pytest.raises(ImpossibleInput, match="more than 6 decimals"):
        price_cluster(cluster=cluster, amount=Decimal("2.1234567"), reason="contract", by=lead, now=NOON)
    with pytest.raises(MayNot):
        price_cluster(cluster=cluster, amount=Decimal(2), reason="x", by=person("h", cluster, Role.HARDWARE), now=NOON)
    price_cluster(cluster=cluster, amount=Decimal("2.10"), reason="contract 17", by=lead, now=NOON)

    entry = LedgerEntry.objects.get(what="cluster_priced")
    assert (entry.data, entry.reason) == ({"amount": "2.10"}, "contract 17")


def test_a_scenario_begins_with_what_is_known_of_the_run(run: Run) -> None:
    found = starting_scenario(run)

    assert (found.gpus, found.days, found.parameters, found.layout) == (16, 10, 70e9, Layout.ADAM_MASTER)


def test_bytes_of_another_layout_become_the_size_of_a_checkpoint(run: Run) -> None:
    run.bytes_per_parameter = {"weights": 4, "gradients": 4, "optimizer": 12}

    assert starting_scenario(run).checkpoint_gb == 16 * 70


def test_an_older_scenario_that_this_portal_would_refuse_is_told(run: Run) -> None:
    row = CostScenario(cluster=run.cluster, inputs=scenario_json(PLAN) | {"gpus": 0})

    with pytest.raises(ImpossibleInput, match="gpus is 0"):
        scenario_of(row)
