"""Inlet air and alarms, as a baseboard controller lists its sensors."""

from __future__ import annotations

import pytest

from readiness_agent.facts import MISSING, UNREADABLE, CouldNotMeasure, ProbeResult, Unreadable
from readiness_agent.parsers.ipmi import parse_sensors
from readiness_agent.probes.room import ROOM, SENSORS
from readiness_agent.source import Json, ProbeContext
from tests.agents.probes.fake_source import FakeSource, problems, values

HEALTHY = """\
Inlet Temp       | 04h | ok  |  7.1 | 23 degrees C
Exhaust Temp     | 01h | ok  |  7.1 | 41 degrees C
CPU1 Temp        | 0Eh | ok  |  3.1 | 58 degrees C
GPU3 Temp        | 2Ch | ns  | 11.4 | No Reading
Fan1A            | 30h | ok  |  7.1 | 9120 RPM
Fan1B            | 31h | ok  |  7.1 | 8880 RPM
Fan Redundancy   | 75h | ok  |  7.1 | Fully Redundant
PS1 Status       | 77h | ok  | 10.1 | Presence detected
PS2 Status       | 78h | ok  | 10.2 | Presence detected
PS3 Status       | 79h | ns  | 10.3 | No Reading
PS Redundancy    | 7Ah | ok  |  7.1 | Fully Redundant
Leak Detect      | B0h | ok  |  7.1 | State Deasserted
SEL              | 72h | ns  |  7.1 | No Reading
"""


def measure(said: Json | CouldNotMeasure) -> ProbeResult:
    return ROOM.run(FakeSource(calls={SENSORS: said}), ProbeContext())


def changed(line: str, to: str) -> str:
    before = next(one for one in HEALTHY.splitlines() if one.startswith(line))
    return HEALTHY.replace(before, to)


def test_a_quiet_room_is_its_inlet_and_no_alarm() -> None:
    result = measure(HEALTHY)

    assert values(result, "room-environment") == {"inlet": 23, "alarms": 0}
    assert result.problems == ()


@pytest.mark.parametrize(
    ("line", "to"),
    [
        ("PS2 Status", "PS2 Status       | 78h | ok  | 10.2 | Presence detected, Failure detected"),
        ("PS2 Status", "PS2 Status       | 78h | ok  | 10.2 | Presence detected, Power Supply AC lost"),
        ("Fan1B", "Fan1B            | 31h | lcr |  7.1 | 240 RPM"),
        ("Fan Redundancy", "Fan Redundancy   | 75h | ok  |  7.1 | Redundancy Lost"),
        ("PS Redundancy", "PS Redundancy    | 7Ah | ok  |  7.1 | Non-Redundant: Sufficient from Redundant"),
        ("Leak Detect", "Leak Detect      | B0h | ok  |  7.1 | State Asserted"),
    ],
)
def test_a_fan_a_power_supply_or_a_leak_that_complains_is_an_alarm(line: str, to: str) -> None:
    assert values(measure(changed(line, to)), "room-environment")["alarms"] == 1


def test_an_empty_bay_is_no_alarm() -> None:
    bays = (
        HEALTHY + "PS4 Status       | 7Bh | ns  | 10.4 | Disabled\nFan9             | 39h | ns  |  7.9 | No Reading\n"
    )

    assert values(measure(bays), "room-environment")["alarms"] == 0


def test_of_two_inlets_the_warmer_counts() -> None:
    two = HEALTHY + "Front Panel Temp | 05h | ok  | 12.1 | 31.5 degrees C\n"

    assert values(measure(two), "room-environment")["inlet"] == 31.5


def test_the_temperature_of_a_gpu_is_not_that_of_the_air() -> None:
    without = "".join(one for one in HEALTHY.splitlines(keepends=True) if not one.startswith("Inlet"))

    result = measure(without)

    assert values(result, "room-environment") == {"alarms": 0}
    assert problems(result, "room-environment") == [("", MISSING)]


def test_a_node_without_a_bmc_is_missing_it() -> None:
    result = measure(CouldNotMeasure(MISSING, "the kernel shows no BMC (/dev/ipmi0): is the module ipmi_si loaded?"))

    assert problems(result, "room-environment") == [("", MISSING)]


@pytest.mark.parametrize("said", ["", "Could not open device at /dev/ipmi0\n", 7])
def test_anything_but_a_list_of_sensors_is_unreadable(said: Json) -> None:
    assert problems(measure(said), "room-environment") == [("", UNREADABLE)]


def test_a_list_that_breaks_off_is_unreadable_and_has_no_alarm_count() -> None:
    with pytest.raises(Unreadable, match="breaks off"):
        parse_sensors(HEALTHY[:-9])
