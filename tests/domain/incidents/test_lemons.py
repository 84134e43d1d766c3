"""Machines to which more happens than chance explains."""

from math import isclose

from checks.domain.incidents.lemons import Record, at_least, suspects


def test_the_tail_of_a_poisson_number() -> None:
    # 1 - e^-1 = 0.6321..., 1 - 2 e^-1 = 0.2642..., 1 - 2.5 e^-1 = 0.0803...
    assert [round(at_least(count, 1.0), 4) for count in (0, 1, 2, 3)] == [1.0, 0.6321, 0.2642, 0.0803]


def test_one_machine_that_takes_most_of_the_fleets_incidents_is_a_lemon() -> None:
    records = [Record("SRV-1", 6, 100.0), Record("SRV-2", 1, 100.0), Record("SRV-3", 1, 100.0)]
    found = suspects(records, fleet_incidents=8, fleet_days=6400.0)

    assert [(one.record.serial, one.is_lemon) for one in found] == [
        ("SRV-1", True), ("SRV-2", False), ("SRV-3", False),
    ]  # fmt: skip
    assert isclose(found[0].expected, 0.125)


def test_a_single_incident_makes_no_lemon_however_rare_incidents_are() -> None:
    (one,) = suspects([Record("SRV-1", 1, 1.0)], fleet_incidents=1, fleet_days=1_000_000.0)

    assert one.by_chance < 0.01
    assert not one.is_lemon


def test_a_fleet_that_was_never_watched_suspects_nobody() -> None:
    (one,) = suspects([Record("SRV-1", 3, 0.0)], fleet_incidents=3, fleet_days=0.0)

    assert (one.by_chance, one.is_lemon) == (1.0, False)
