"""Whether a trouble is a new one, more about one that is open, or one that comes back."""

from datetime import timedelta

import pytest

from checks.domain.incidents.kinds import Component, Relation, Standing, component_of, is_blind_spot
from checks.domain.incidents.recurring import Meeting, fingerprint_of, meeting_of
from checks.domain.incidents.standing import TimesMistake, times_mistake
from checks.domain.verdicts import Layer
from tests.lab import HOUR, NOON

DAY = timedelta(days=1)


def test_a_fingerprint_is_what_broke_how_and_in_which_part() -> None:
    assert fingerprint_of(Component.FAULTY_GPU, "Xid  79", "GPU-0003") == "faulty_gpu/xid-79/GPU-0003"


def test_nothing_is_like_anything_while_nobody_said_of_which_class_it_is() -> None:
    assert fingerprint_of(Component.FAULTY_GPU, "  ", "GPU-0003") == ""


@pytest.mark.parametrize(
    ("standing", "ended", "at", "expected"),
    [
        (Standing.OPEN, None, NOON, Meeting.JOINS),
        (Standing.STABLE, NOON - HOUR, NOON, Meeting.REOPENS),
        (Standing.CLOSED, NOON - 90 * DAY, NOON, Meeting.REOPENS),
        (Standing.CLOSED, NOON - 90 * DAY - HOUR, NOON, Meeting.IS_NEW),
        (Standing.CLOSED, NOON, NOON - HOUR, Meeting.JOINS),
        (Standing.MERGED, None, NOON, Meeting.IS_NEW),
    ],
)
def test_the_same_trouble_joins_comes_back_or_is_new(
    standing: Standing, ended: object, at: object, expected: Meeting
) -> None:
    assert meeting_of(standing, ended, at=at) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("started", "detected", "stable", "expected"),
    [
        (NOON - HOUR, NOON, None, None),
        (NOON, NOON, NOON, None),
        (NOON + HOUR, NOON + HOUR, None, TimesMistake.TO_COME),
        (NOON, NOON - HOUR, None, TimesMistake.DETECTED_TOO_EARLY),
        (NOON, NOON, NOON - HOUR, TimesMistake.ENDED_TOO_EARLY),
    ],
)
def test_moments_that_contradict_each_other_are_named(
    started: object, detected: object, stable: object, expected: TimesMistake | None
) -> None:
    assert times_mistake(started, detected, stable, now=NOON) is expected  # type: ignore[arg-type]


def test_an_incident_that_no_item_caught_or_should_have_is_a_blind_spot() -> None:
    assert is_blind_spot([Relation.RELATED, Relation.CAUSED_FALSE_ALARM])
    assert not is_blind_spot([Relation.RELATED, Relation.SHOULD_HAVE_CAUGHT])


@pytest.mark.parametrize(
    ("item", "layer", "component"),
    [
        ("gpu-nvlink-links", Layer.PHYSICAL, Component.NVLINK), ("gpu-present", Layer.PHYSICAL, Component.FAULTY_GPU),
        ("nvme-fio", Layer.PHYSICAL, Component.SSD), ("ulimit-nofile", Layer.SYSTEM, Component.HOST_SETTING),
    ],
)  # fmt: skip
def test_what_an_item_is_about_says_what_is_likely_broken(item: str, layer: Layer, component: Component) -> None:
    assert component_of(item, layer) is component


def test_what_people_change_on_purpose_is_no_failure() -> None:
    assert [one for one in Component if not one.counts_as_failure] == [
        Component.HOST_MAINTENANCE, Component.OPERATOR_CHANGE,
    ]  # fmt: skip
