"""When things were measured, by the portal's clock."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from checks.services.report_clock import ReportClock
from checks.services.report_v1 import ReportV1
from tests.factories import NOON, Machine, enrolled_machine, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster())


def clock(machine: Machine, *, age_s: float | None, **fields: object) -> ReportClock:
    report = msgspec.convert(machine.report(**fields), ReportV1)
    return ReportClock.of(report, received_at=machine.now, age_s=age_s)


def test_age_counts_back_from_the_moment_of_receipt(machine: Machine) -> None:
    assert clock(machine, age_s=90).written_at == NOON - timedelta(seconds=90)


def test_a_fact_is_as_much_older_as_the_boot_clock_says(machine: Machine) -> None:
    assert clock(machine, age_s=0).observed(machine.boottime - 12.5) == NOON - timedelta(seconds=12.5)


def test_a_fact_from_the_future_of_its_report_counts_as_measured_at_its_writing(machine: Machine) -> None:
    assert clock(machine, age_s=0).observed(machine.boottime + 3600) == NOON


def test_a_wall_clock_that_is_ten_years_ahead_changes_no_age(machine: Machine) -> None:
    skewed = {"unix": datetime(2036, 1, 1, tzinfo=UTC).timestamp(), "boottime": machine.boottime}
    machine.push(machine.report(clock=skewed), age_s=30)

    assert machine.readiness.tick_at == NOON - timedelta(seconds=30)


def test_without_a_stated_age_the_wall_clock_makes_a_report_old_but_never_new(machine: Machine) -> None:
    hour_ago = {"unix": NOON.timestamp() - 3600, "boottime": machine.boottime}
    hour_ahead = {"unix": NOON.timestamp() + 3600, "boottime": machine.boottime}

    assert clock(machine, age_s=None, clock=hour_ago).written_at == NOON - timedelta(hours=1)
    assert clock(machine, age_s=None, clock=hour_ahead).written_at == NOON


def test_a_spooled_report_of_yesterday_never_looks_fresh(machine: Machine) -> None:
    report = machine.report()
    machine.sleep(timedelta(days=1))
    machine.push(report, age_s=86_400)

    assert machine.readiness.tick_until == NOON + timedelta(minutes=15)
