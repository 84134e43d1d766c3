"""From a scenario and a price book to an estimate: every line, none of them hidden in another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from checks.domain.cost.interruption import interruption_lines, spot_lines
from checks.domain.cost.job import MONTH_DAYS, Job
from checks.domain.cost.money import Estimate, Input, LineItem, Part, Range, exact
from checks.domain.cost.paths import egress_cost
from checks.domain.cost.prices import Book, Price, PriceKind
from checks.domain.cost.retention import retained
from checks.domain.cost.scenario import Scenario, require_cheaper

#: Bytes of one part of an upload, as object-store clients send it.
UPLOAD_PART: Final = 64 * 1024**2


def estimate(scenario: Scenario, book: Book) -> Estimate:
    """What the run costs in dollars; its losses are paid on top of its days of training.

    Raises:
        ImpossibleInput: the scenario holds what no run can have, or never gets on.
        PriceMissing: the book does not price what it needs.
    """
    job = Job(scenario)
    hire = _hire(scenario, book)
    lines = (*_hire_lines(job, *hire), egress_line(job, book), *_store_lines(job, book))
    present = {line.part for line in lines}
    return Estimate(lines, unpriced=tuple(part for part in (Part.STORAGE, Part.REQUESTS) if part not in present))


def gpu_hour(scenario: Scenario, book: Book) -> Decimal:
    """US dollars for one hour of the job's average GPU, spot and on-demand mixed as the scenario says.

    Raises:
        ImpossibleInput, PriceMissing.
    """
    return _hire(scenario, book)[0]


def _hire(scenario: Scenario, book: Book) -> tuple[Decimal, tuple[Price, ...]]:
    """The mixed price, and the rows of the book that it was made of."""
    share = exact(scenario.spot_share)
    on_demand, rows = _hour(scenario.gpu_price, PriceKind.GPU_HOUR, scenario, book)
    if not share:
        return on_demand, rows
    spot, spot_rows = _hour(scenario.spot_price, PriceKind.SPOT_HOUR, scenario, book)
    require_cheaper(spot, on_demand)
    return share * spot + (1 - share) * on_demand, rows + spot_rows


def _hour(own: Decimal | None, kind: PriceKind, scenario: Scenario, book: Book) -> tuple[Decimal, tuple[Price, ...]]:
    if own is not None:
        return own, ()
    row = book.one(kind, region=scenario.region, sku=scenario.sku)
    return row.amount, (row,)


def _hire_lines(job: Job, price: Decimal, rows: tuple[Price, ...]) -> Iterator[LineItem]:
    scenario = job.scenario
    a_day = 24 * scenario.gpus * price
    hire = (Input("N", str(scenario.gpus), "GPUs"), Input("p", f"{price:f}", "USD / GPU hour"))
    training = exact(scenario.days) * a_day
    days = Input("D", f"{scenario.days:g}", "days")
    yield LineItem("training", Part.TRAINING, Range.exactly(training), "N × 24 × D × p", (*hire, days), rows)
    writing = training * exact(job.write_s / job.interval_s)
    write = (Input("w", f"{job.write_s:g}", "s"), Input("dt", f"{job.interval_s:g}", "s"))
    yield LineItem(
        "checkpoints.writes", Part.CHECKPOINTS, Range.exactly(writing), "N × 24 × D × p × w / dt",
        (*hire, days, *write), rows,
    )  # fmt: skip
    yield from interruption_lines(job, price, rows)
    yield from spot_lines(job, price, rows)
    yield from _optional_lines(job, price, rows, hire)


def _optional_lines(job: Job, price: Decimal, rows: tuple[Price, ...], hire: tuple[Input, Input]) -> Iterator[LineItem]:
    """Lines that are there only where the scenario asks for what they are about."""
    scenario = job.scenario
    calendar = _calendar(job)
    if scenario.window_h_a_day:
        amount = _each_day(job, exact(scenario.window_h_a_day) * scenario.gpus * price)
        hours = Input("h", f"{scenario.window_h_a_day:g}", "h a day")
        yield LineItem("window", Part.WINDOW, amount, "N × h × days × p", (*hire, hours, calendar), rows)
    if scenario.warm_nodes:
        spare = scenario.warm_nodes * scenario.gpus_per_node
        amount = _each_day(job, 24 * spare * price)
        inputs = (Input("spare GPUs", str(spare)), hire[1], calendar)
        yield LineItem("warm_pool", Part.WARM_POOL, amount, "spare GPUs × 24 × days × p", inputs, rows)
    for key, part, value in (
        ("idle", Part.IDLE, scenario.idle_h),
        ("rehearsal", Part.REHEARSAL, scenario.rehearsal_h),
    ):
        if value:
            amount = Range.exactly(exact(value) * scenario.gpus * price)
            yield LineItem(key, part, amount, "N × h × p", (*hire, Input("h", f"{value:g}", "h")), rows)


def _each_day(job: Job, amount: Decimal) -> Range:
    few, expected, many = (exact(world.calendar_days) * amount for world in job.worlds)
    return Range(few, expected, many)


def moved_gb(job: Job) -> Decimal:
    """GB of checkpoints that take the scenario's route."""
    moved = job.scenario.checkpoints_moved
    return job.checkpoint_gb * (job.written if moved is None else moved)


def egress_line(job: Job, book: Book) -> LineItem:
    """The line for the checkpoints' way.

    Raises:
        PriceMissing
    """
    scenario = job.scenario
    months = max(1, math.ceil(scenario.days / MONTH_DAYS))
    return egress_cost(
        moved_gb(job), scenario.route, book, region=scenario.region, destination=scenario.destination,
        used=scenario.month_to_date_gb, months=months,
    )  # fmt: skip


def _store_lines(job: Job, book: Book) -> Iterator[LineItem]:
    """What keeping the checkpoints costs, and handing them over in parts; no line where the book has no price."""
    for row in _rows(book, PriceKind.STORAGE_MONTH, job.scenario):
        yield _storage(job, row)
    for row in _rows(book, PriceKind.REQUEST_1000, job.scenario):
        yield _requests(job, row)


def _storage(job: Job, row: Price) -> LineItem:
    kept = retained(job.written, keep_last=job.scenario.keep_last, keep_every=job.scenario.keep_every)
    amount = _each_day(job, job.checkpoint_gb * kept * row.amount / MONTH_DAYS)
    size = Input("S", f"{job.checkpoint_gb:f}", "GB")
    price = Input("price", f"{row.amount:f}", "USD / GB month")
    inputs = (Input("kept", str(kept), "checkpoints"), size, _calendar(job), price)
    return LineItem("storage", Part.STORAGE, amount, "kept × S × days / 30 × price", inputs, (row,))


def _requests(job: Job, row: Price) -> LineItem:
    parts = math.ceil(job.checkpoint_gb * 10**9 / UPLOAD_PART)
    amount = Range.exactly(Decimal(parts * job.written) * row.amount / 1000)
    written = Input("written", str(job.written), "checkpoints")
    price = Input("price", f"{row.amount:f}", "USD / 1000")
    inputs = (Input("parts", str(parts), "of 64 MiB"), written, price)
    return LineItem("requests", Part.REQUESTS, amount, "parts × written × price / 1000", inputs, (row,))


def _rows(book: Book, kind: PriceKind, scenario: Scenario) -> tuple[Price, ...]:
    """The row of that kind, if there is one."""
    return tuple(book.of(kind, region=scenario.region))[:1]


def _calendar(job: Job) -> Input:
    return Input("days", " / ".join(f"{world.calendar_days:.6g}" for world in job.worlds), "days")
