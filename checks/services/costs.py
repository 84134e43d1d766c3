"""Scenarios, frozen estimates, bills, and what a cluster's GPU hour costs. Each act is in the ledger."""

import hashlib
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from checks.domain.cost.bills import Bill, BillUnreadable, read_bill
from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.estimating import estimate
from checks.domain.cost.money import cents
from checks.domain.cost.price_bounds import DECIMALS
from checks.domain.cost.scenario import BOUNDS, Scenario
from checks.domain.cost.wire import estimate_json, scenario_json
from checks.domain.errors import CountersignError
from checks.models import ActualCost, Cluster, ClusterPrice, CostScenario, Estimate, Run
from checks.selectors.costs import book_named, scenario_of
from checks.selectors.pages_access import ACTING_ROLES
from checks.selectors.runs import LEADING_ROLES
from checks.services.ledger import write_entry
from checks.services.permissions import require_prose, require_reason, require_role

#: A bill this many times its estimate, or this small a part of it, is another run's, or in another unit.
ODD_FACTOR: Final = 100
_LONGEST_NAME: Final = 100


class NoScenarioName(CountersignError):
    """A scenario is found again by its name."""

    code = "no_scenario_name"

    def __init__(self) -> None:
        super().__init__(_("Give the scenario a name."))


class BillReadAlready(CountersignError):
    """The very same file was read in against this estimate."""

    code = "bill_read_already"
    status = 409


@transaction.atomic
def save_scenario(
    *,
    cluster: Cluster,
    name: str,
    scenario: Scenario,
    provider: str,
    by: Any,
    now: datetime,
    run: Run | None = None,
    token: str = "",
) -> CostScenario:
    """Keep *scenario* with the cluster or one of its runs; under a name that is there, the newer one counts.

    *by* is None where a program does it, with the operator's token whose public part is *token*.

    Raises:
        MayNot, TextRefused, NoScenarioName.
        ImpossibleInput, PriceMissing, NoPrices: it cannot be costed, so there is no use in keeping it.
    """
    saved = _kept(cluster, run, name, scenario, provider, by, now, token)
    _write_kept(saved)
    return saved


@transaction.atomic
def freeze_estimate(*, scenario: CostScenario, by: Any, now: datetime, token: str = "") -> Estimate:
    """Write down what the scenario costs by the prices of now, with a copy of them. Nothing changes it any more.

    Raises:
        MayNot, ImpossibleInput, PriceMissing, NoPrices.
    """
    _require_maker(by, scenario.cluster)
    frozen = _frozen(scenario, by, now, token)
    _write_frozen(frozen)
    return frozen


@transaction.atomic
def estimate_run(
    *, run: Run, name: str, scenario: Scenario, provider: str, by: Any, now: datetime, token: str = ""
) -> Estimate:
    """Keep *scenario* with the run and freeze what it costs, in one act.

    Raises:
        As ``save_scenario``.
    """
    kept = _kept(run.cluster, run, name, scenario, provider, by, now, token)
    frozen = _frozen(kept, by, now, token)
    _write_kept(kept)
    _write_frozen(frozen)
    return frozen


@transaction.atomic
def import_actual(
    *, frozen: Estimate, text: str, file_name: str, by: Any, now: datetime, token: str = ""
) -> ActualCost:
    """Read a bill in against an estimate: an AWS Cost and Usage Report, or a plain list of causes and amounts.

    Raises:
        MayNot, BillReadAlready.
        BillUnreadable: no bill, or one a hundred times the estimate or a hundredth of it.
    """
    _require_maker(by, frozen.cluster)
    bill = read_bill(text)
    _require_likely(bill, frozen)
    digest = hashlib.sha256(text.encode()).hexdigest()
    try:
        with transaction.atomic():
            actual = ActualCost.objects.create(
                estimate=frozen, form=bill.form.value, file_name=require_prose(file_name, most=200), checksum=digest,
                billed={cause.value: str(amount) for cause, amount in bill.billed.items()}, rows=bill.rows, by=by,
                token=token, at=now,
            )  # fmt: skip
    except IntegrityError as error:
        raise BillReadAlready(_("This very file was read in against this estimate already.")) from error
    data = {"estimate": frozen.pk, "file": actual.file_name, "digest": digest, "total": str(cents(bill.total))}
    _write("bill_read", actual, _target(frozen), data, cluster=frozen.cluster)
    return actual


@transaction.atomic
def price_cluster(
    *, cluster: Cluster, amount: Decimal, reason: str, by: Any, now: datetime, token: str = ""
) -> ClusterPrice:
    """Say what an hour of one of the cluster's GPUs costs: what waiting costs is reckoned with it from now on.

    Raises:
        MayNot, ReasonMissing, TextRefused.
        ImpossibleInput: the amount is no price.
    """
    if by is not None:
        require_role(by, cluster, LEADING_ROLES)
    least, most = BOUNDS["gpu_price"]
    if not (amount.is_finite() and least <= amount <= most):
        said = _("%(amount)s USD a GPU hour is no price; give 0.000001 to %(most)s.")
        raise ImpossibleInput("gpu_price", "between", said % {"amount": amount, "most": most})
    if amount != round(amount, DECIMALS):
        said = _("%(amount)s USD has more than %(decimals)d decimals; round it.")
        raise ImpossibleInput("gpu_price", "number", said % {"amount": amount, "decimals": DECIMALS})
    priced = ClusterPrice.objects.create(
        cluster=cluster, amount=amount, reason=require_reason(reason), by=by, token=token, at=now
    )
    _write("cluster_priced", priced, cluster.slug, {"amount": str(amount)}, reason=priced.reason)
    return priced


def _kept(
    cluster: Cluster, run: Run | None, name: str, scenario: Scenario, provider: str, by: Any, now: datetime, token: str
) -> CostScenario:
    _require_maker(by, cluster)
    told = require_prose(name, most=_LONGEST_NAME)
    if not told:
        raise NoScenarioName
    estimate(scenario, book_named(provider))
    return CostScenario.objects.create(
        cluster=cluster, run=run, name=told, provider=provider, inputs=scenario_json(scenario), by=by, token=token,
        at=now,
    )  # fmt: skip


def _frozen(scenario: CostScenario, by: Any, now: datetime, token: str) -> Estimate:
    found = estimate(scenario_of(scenario), book_named(scenario.provider))
    return Estimate.objects.create(
        scenario=scenario, run=scenario.run, cluster=scenario.cluster, formula_version=found.formula_version,
        document=estimate_json(found), low=cents(found.total.low), expected=cents(found.total.expected),
        high=cents(found.total.high), by=by, token=token, at=now,
    )  # fmt: skip


def _require_maker(by: Any, cluster: Cluster) -> None:
    if by is not None:
        require_role(by, cluster, ACTING_ROLES)


def _require_likely(bill: Bill, frozen: Estimate) -> None:
    if frozen.expected and not frozen.expected / ODD_FACTOR <= bill.total <= frozen.expected * ODD_FACTOR:
        said = _(
            "The file bills %(billed)s USD and the estimate expects %(expected)s; check that it is this run's bill, "
            "and in USD."
        )
        raise BillUnreadable(said % {"billed": cents(bill.total), "expected": frozen.expected})


def _write_kept(saved: CostScenario) -> None:
    _write("scenario_saved", saved, _target(saved), {"scenario": saved.name})


def _write_frozen(frozen: Estimate) -> None:
    data = {"estimate": frozen.pk, "scenario": frozen.scenario.name, "expected": str(frozen.expected)}
    _write("estimate_frozen", frozen, _target(frozen), data)


def _target(kept: CostScenario | Estimate) -> str:
    return kept.run.slug if kept.run is not None else kept.cluster.slug


def _write(
    what: str, kept: Any, target: str, data: dict[str, Any], *, cluster: Cluster | None = None, reason: str = ""
) -> None:
    told = data | ({"token": kept.token} if kept.token else {})
    write_entry(
        what=what, target=target, who=kept.by, cluster=cluster or kept.cluster, now=kept.at, data=told, reason=reason
    )
