"""One report is one report, however often and however late it comes."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connections

from checks.models import Flip, NodeItemState, NodeMemory, Report, ReportReceipt
from checks.selectors.partitions import partitions_until
from checks.services import partitions
from tests.factories import Machine, enrolled_machine, healthy_facts, make_cluster

LATE_EVENING = datetime(2026, 11, 30, 23, 59, 50, tzinfo=UTC)


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster())


def _everything(machine: Machine) -> tuple[list[object], ...]:
    models = (NodeItemState, NodeMemory, Report, ReportReceipt, Flip)
    return tuple(list(model.objects.filter(node=machine.node).order_by("pk").values_list()) for model in models)


@pytest.mark.django_db
def test_a_report_sent_twice_is_answered_as_a_duplicate_and_doubles_nothing(machine: Machine) -> None:
    report = machine.report()
    first = machine.push(report)
    before = _everything(machine)
    machine.sleep(timedelta(minutes=1))
    again = machine.push(report, age_s=60)

    assert (first.duplicate, again.duplicate, again.accepted) == (False, True, True)
    assert _everything(machine) == before


@pytest.mark.django_db
def test_a_duplicate_answers_with_the_verdicts_that_are_stored(machine: Machine) -> None:
    facts = healthy_facts()
    facts["hung-io"][""]["longest_wait"] = (92.0, "seconds")
    report = machine.report(facts)
    machine.push(report)
    machine.sleep()
    machine.push()
    again = machine.push(report, age_s=300)

    assert [line.verdict for line in again.verdicts if line.item == "hung-io"] == ["pass"]


@pytest.mark.django_db
def test_a_retry_after_midnight_is_still_the_same_report(machine: Machine) -> None:
    machine.now = LATE_EVENING
    report = machine.report()
    machine.push(report)
    machine.sleep(timedelta(seconds=20))
    again = machine.push(report, age_s=20)

    assert again.duplicate
    assert Report.objects.filter(node=machine.node).count() == 1


@pytest.mark.django_db
def test_a_retry_on_day_five_is_still_the_same_report(machine: Machine) -> None:
    report = machine.report()
    machine.push(report)
    machine.sleep(timedelta(days=5))

    assert machine.push(report, age_s=5 * 86_400).duplicate


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_missing_partition_is_made_and_the_report_stored_once() -> None:
    machine = enrolled_machine(make_cluster())
    machine.now = datetime.now(UTC)
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"DROP TABLE checks_report_p{machine.now:%Y%m%d}")
    receipt = machine.push()

    assert not receipt.duplicate
    assert Report.objects.filter(node=machine.node).count() == 1


@pytest.mark.django_db
def test_making_partitions_again_makes_none_and_they_reach_two_weeks_ahead() -> None:
    assert partitions.ensure() == 0
    until = partitions_until()
    assert until is not None
    assert until > datetime.now(UTC) + timedelta(days=13)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_each_migrate_makes_the_partitions_that_are_missing() -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"DROP TABLE checks_report_p{tomorrow:%Y%m%d}")
    call_command("migrate", database="owner", verbosity=0, interactive=False)

    assert partitions.ensure() == 0


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_dropping_partitions_takes_old_reports_and_receipts_and_never_a_flip() -> None:
    machine = enrolled_machine(make_cluster())
    with connections["owner"].cursor() as cursor:
        for table, day in (("checks_report", "20200101"), ("checks_flip", "202001")):
            cursor.execute(f"CREATE TABLE {table}_p{day} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)")
            cursor.execute(
                f"ALTER TABLE {table} ATTACH PARTITION {table}_p{day} FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')"
            )
    ReportReceipt.objects.create(
        node=machine.node, report_id=machine.node.pk, received_at=datetime.now(UTC) - timedelta(days=9)
    )

    dropped = partitions.drop()

    assert dropped[0] == "checks_report_p20200101"
    over = f"{datetime.now(UTC) - timedelta(days=3):%Y%m%d}"
    assert all(name.rpartition("_p")[2].ljust(8, "0") < over for name in dropped)
    assert not any(name.startswith("checks_flip") for name in dropped)
    assert not ReportReceipt.objects.exists()
