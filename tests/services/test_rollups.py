"""What is left of reports when they are gone: numbers by hour and day, and the texts that a verdict still names."""

from datetime import UTC, datetime, timedelta

import pytest

from checks.models import Evidence, ValueRollup
from checks.services.evidence import purge_evidence
from checks.services.rollups import roll_up
from tests.factories import NOON, Machine, enrolled_machine, healthy_facts, make_cluster

pytestmark = pytest.mark.django_db
AT_NINE = datetime(2026, 11, 30, 9, 10, tzinfo=UTC)


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster(), now=AT_NINE)


def push_temperatures(machine: Machine, *temperatures: float) -> None:
    for temperature in temperatures:
        facts = healthy_facts()
        facts["gpu-temperature"]["gpu2"]["temperature"] = (temperature, "celsius")
        machine.push(facts=facts)
        machine.sleep()


def kept(grain: str) -> list[tuple[datetime, float, float, float, int]]:
    rows = ValueRollup.objects.filter(item="gpu-temperature", subject="gpu2", name="temperature", grain=grain)
    return list(rows.order_by("at").values_list("at", "least", "greatest", "last", "samples"))


def test_an_hour_keeps_least_greatest_last_and_how_many(machine: Machine) -> None:
    push_temperatures(machine, 41, 65, 52)
    roll_up(now=machine.now)

    assert kept("hour") == [(AT_NINE.replace(minute=0), 41, 65, 52, 3)]


def test_a_day_is_made_of_its_hours(machine: Machine) -> None:
    push_temperatures(machine, 41, 65)
    roll_up(now=machine.now)
    machine.sleep(timedelta(hours=1))
    push_temperatures(machine, 38)
    roll_up(now=machine.now)

    assert kept("day") == [(datetime(2026, 11, 30, tzinfo=UTC), 38, 65, 38, 3)]


def test_rolling_up_twice_changes_nothing(machine: Machine) -> None:
    push_temperatures(machine, 41, 65)
    roll_up(now=machine.now)
    before = kept("hour") + kept("day")
    roll_up(now=machine.now)

    assert kept("hour") + kept("day") == before


def test_a_number_beyond_all_measure_has_no_roll_up_and_stops_no_other(machine: Machine) -> None:
    push_temperatures(machine, 41, 10**400, 1e308 * 1.5, 65)
    roll_up(now=machine.now)

    assert kept("hour") == [(AT_NINE.replace(minute=0), 41, 65, 65, 2)]


def test_texts_have_no_roll_up(machine: Machine) -> None:
    machine.push()
    roll_up(now=machine.now)

    assert not ValueRollup.objects.filter(name__in=["compute_mode", "ecc_enabled"]).exists()


def test_a_text_stays_while_a_row_names_it_and_goes_a_day_after(machine: Machine) -> None:
    for place, text in enumerate(["first", "second"]):
        facts = healthy_facts()
        facts["mem-oom"][""]["memory_total"] = (2063840 + place, "MiB")
        evidence = [{"probe": "memory", "text": text, "truncated": False, "sha256": "0" * 64, "items": ["mem-oom"]}]
        machine.push(facts=facts, evidence=evidence)
        machine.sleep()

    assert purge_evidence(now=machine.now) == 0
    assert purge_evidence(now=NOON + timedelta(days=2)) == 1
    assert list(Evidence.objects.values_list("text", flat=True)) == ["second"]
