"""Daily windows in a cluster's own zone: across midnight, and on the days on which the clocks change."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.domain.answers import NO_MAINTENANCE
from checks.domain.windows import (
    DailyWindow,
    WindowKind,
    first_moment,
    known_zone,
    last_moment_of,
    maintenance_at,
    next_opening,
    open_until,
)

BERLIN, SHANGHAI, APIA = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Shanghai"), ZoneInfo("Pacific/Apia")
#: Zones with every kind of change: by an hour, by half of one, at midnight, over a whole day, and none at all.
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut",
         "Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu", "Asia/Shanghai", "America/St_Johns"]  # fmt: skip
MINUTES = st.integers(0, 24 * 60 - 1).map(lambda number: time(number // 60, number % 60))
WINDOWS = st.builds(DailyWindow, st.sampled_from(WindowKind), MINUTES, MINUTES)
MOMENTS = st.datetimes(datetime(2009, 1, 1), datetime(2029, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))  # noqa: DTZ001


def window(opens: str, closes: str, kind: WindowKind = WindowKind.MAINTENANCE) -> DailyWindow:
    return DailyWindow(kind, time.fromisoformat(opens), time.fromisoformat(closes))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_window_is_open_from_its_first_moment_until_before_its_last() -> None:
    night = [window("22:00", "23:30")]

    assert open_until(night, UTC, utc("2026-11-30T21:59:59.999999")) is None
    assert open_until(night, UTC, utc("2026-11-30T22:00")) == utc("2026-11-30T23:30")
    assert open_until(night, UTC, utc("2026-11-30T23:30")) is None


def test_a_window_goes_on_after_midnight_in_the_clusters_own_zone() -> None:
    off_peak = [window("20:00", "06:00", WindowKind.OFF_PEAK)]

    assert open_until(off_peak, SHANGHAI, utc("2026-11-30T17:00")) == utc("2026-11-30T22:00")  # 01:00 there
    assert open_until(off_peak, SHANGHAI, utc("2026-11-30T05:00")) is None  # 13:00 there


def test_in_spring_a_night_is_an_hour_shorter_and_in_autumn_an_hour_longer() -> None:
    night = [window("20:00", "06:00")]

    # Berlin: on 2026-03-29 at 02:00 it becomes 03:00; on 2026-10-25 at 03:00 it becomes 02:00.
    assert open_until(night, BERLIN, utc("2026-03-28T19:00")) == utc("2026-03-29T04:00")  # 9 hours
    assert open_until(night, BERLIN, utc("2026-10-24T18:00")) == utc("2026-10-25T05:00")  # 11 hours


def test_a_window_that_begins_in_skipped_time_opens_with_the_jump() -> None:
    assert open_until([window("02:30", "04:00")], BERLIN, utc("2026-03-29T01:00")) == utc("2026-03-29T02:00")
    assert open_until([window("02:30", "04:00")], BERLIN, utc("2026-03-29T00:59:59")) is None


def test_a_window_that_lies_in_skipped_time_is_left_out_that_day() -> None:
    skipped = [window("02:00", "03:00")]

    assert next_opening(skipped, BERLIN, utc("2026-03-28T12:00")) == utc("2026-03-30T00:00")


def test_an_hour_that_comes_twice_opens_a_window_once() -> None:
    twice = [window("02:15", "02:45")]

    assert open_until(twice, BERLIN, utc("2026-10-25T00:15")) == utc("2026-10-25T00:45")
    assert open_until(twice, BERLIN, utc("2026-10-25T01:20")) is None  # 02:20 once more


def test_a_day_that_a_zone_left_out_has_no_window_of_its_own() -> None:
    # Samoa went from the end of 29 December 2011 to the beginning of the 31st.
    jump = utc("2011-12-30T10:00")

    assert first_moment(date(2011, 12, 30), time(12, 0), APIA) == jump
    assert open_until([window("22:00", "06:00")], APIA, jump - timedelta(minutes=1)) == jump + timedelta(hours=6)


def test_windows_without_a_gap_between_them_are_one() -> None:
    both = [window("20:00", "22:00"), window("22:00", "06:00", WindowKind.OFF_PEAK)]

    assert open_until(both, UTC, utc("2026-11-30T21:00")) == utc("2026-12-01T06:00")


def test_only_a_maintenance_window_is_maintenance() -> None:
    off_peak = [window("20:00", "06:00", WindowKind.OFF_PEAK)]

    assert maintenance_at(off_peak, UTC, utc("2026-11-30T21:00")) == NO_MAINTENANCE
    assert maintenance_at([window("20:00", "22:00")], UTC, utc("2026-11-30T21:00")).until == utc("2026-11-30T22:00")


def test_a_name_that_no_time_zone_has_is_no_zone() -> None:
    assert known_zone("Europe/Berlin") == BERLIN
    assert [known_zone(name) for name in ("Europe/Nowhere", "", "../etc/passwd", "/etc/localtime")] == [None] * 4


@pytest.mark.parametrize("name", sorted(available_timezones()))
def test_every_zone_takes_a_night_on_every_change_of_a_year(name: str) -> None:
    zone, night = ZoneInfo(name), [window("20:00", "06:00")]
    moment, ends = datetime(2026, 1, 1, 12, tzinfo=UTC), []
    while moment.year == 2026:
        opens = next_opening(night, zone, moment)
        assert opens is not None
        until = open_until(night, zone, opens)
        assert until is not None
        ends.append(until - opens)
        moment = until
    assert 363 <= len(ends) <= 366
    assert min(ends) >= timedelta(hours=8)
    assert max(ends) <= timedelta(hours=12)  # clocks change by two hours at most


@settings(max_examples=400, deadline=None)
@given(zone=st.sampled_from(ZONES).map(ZoneInfo), windows=st.lists(WINDOWS, min_size=1, max_size=3), now=MOMENTS)
def test_the_answer_holds_until_the_moment_that_it_names(
    zone: ZoneInfo, windows: list[DailyWindow], now: datetime
) -> None:
    until, opening = open_until(windows, zone, now), next_opening(windows, zone, now)
    change = until or opening

    assert change is not None
    assert change > now
    for share in (0.01, 0.5, 0.99):
        between = now + (change - now) * share
        assert (open_until(windows, zone, between) is None) == (until is None)


@settings(max_examples=400, deadline=None)
@given(zone=st.sampled_from(ZONES).map(ZoneInfo), wall=MINUTES, now=MOMENTS)
def test_wall_clock_times_come_in_their_order_whatever_the_clocks_do(zone: ZoneInfo, wall: time, now: datetime) -> None:
    day = now.astimezone(zone).date()
    moments = [first_moment(day + timedelta(days=number), wall, zone) for number in range(-2, 3)]

    assert moments == sorted(moments)
    assert first_moment(day, time(0, 0), zone) <= moments[2]


@settings(max_examples=300, deadline=None)
@given(zone=st.sampled_from(ZONES).map(ZoneInfo), wall=MINUTES, now=MOMENTS)
def test_the_first_moment_is_the_first_one(zone: ZoneInfo, wall: time, now: datetime) -> None:
    day = now.astimezone(zone).date()
    said, moment = datetime.combine(day, wall), first_moment(day, wall, zone)

    def shown(at: datetime) -> datetime:
        return at.astimezone(zone).replace(tzinfo=None)

    assert shown(moment) >= said
    assert shown(moment - timedelta(milliseconds=1)) < said


@settings(max_examples=200, deadline=None)
@given(zone=st.sampled_from(ZONES).map(ZoneInfo), one=WINDOWS, now=MOMENTS)
def test_what_the_gate_says_of_maintenance_holds_to_the_last_moment_that_it_is_kept(
    zone: ZoneInfo, one: DailyWindow, now: datetime
) -> None:
    last = last_moment_of([one], zone, now)

    if one.kind is WindowKind.OFF_PEAK:
        assert last is None
    else:
        assert last is not None
        assert maintenance_at([one], zone, last).active == maintenance_at([one], zone, now).active
        assert maintenance_at([one], zone, last + timedelta(microseconds=1)) != maintenance_at([one], zone, now)
