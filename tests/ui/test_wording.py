"""Ages, numbers and names as pages write them."""

from datetime import UTC, datetime

import pytest
from django.utils import translation

from portal.ui.figures import number, shown
from portal.ui.sentences import closed, joined
from portal.ui.stops import first_sentence
from portal.ui.subjects import subject_label, subjects_said
from portal.ui.templatetags.countersign import marked
from portal.ui.times import absolute_time, duration, time_or_day

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (18120, "5 h 02 min"),
        (97200, "1 d 3 h"),
        (86400 * 6, "6 d"),
        (86400 * 9 + 7200, "9 d"),
    ],
)
def test_an_age_is_told_in_its_two_leading_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_an_age_in_chinese_has_chinese_units() -> None:
    with translation.override("zh-hans"):
        assert duration(18120) == "5 小时 02 分钟"


def test_a_moment_names_its_year_only_when_it_is_another() -> None:
    assert absolute_time(datetime(2026, 11, 28, 9, 5, tzinfo=UTC), now=NOW) == "28 Nov 09:05"
    assert absolute_time(datetime(2025, 1, 2, 9, 5, tzinfo=UTC), now=NOW) == "2 Jan 2025 09:05"


def test_a_timeline_shows_the_time_within_a_day_and_the_day_before_that() -> None:
    assert time_or_day(datetime(2026, 11, 30, 9, 5, tzinfo=UTC), now=NOW) == "09:05"
    assert time_or_day(datetime(2026, 11, 28, 9, 5, tzinfo=UTC), now=NOW) == "28 Nov"


def test_numbers_have_their_thousands_apart_and_no_needless_digits() -> None:
    assert [number(250000), number(431.7), number(2.0), number(0.12345)] == ["250,000", "431.7", "2", "0.123"]


def test_values_carry_their_unit_unless_it_says_nothing() -> None:
    assert shown(16, "lanes") == "16\u202flanes"
    assert shown(61, "celsius") == "61\u202f°C"
    assert shown(8, "count") == "8"
    assert shown(True, "bool") == "yes"
    assert shown("unlimited", "bytes") == "unlimited"
    assert shown(("noatime", "relatime"), "text") == "noatime, relatime"


def test_subjects_are_written_as_people_say_them() -> None:
    assert subject_label("") == "node"
    assert subject_label("gpu3") == "GPU 3"
    assert subjects_said(["gpu0", "gpu1", "gpu2", "gpu4", "gpu10"]) == "GPU 0–2, 4, 10"


def test_sentences_end_once_and_chinese_ones_stand_without_spaces() -> None:
    assert joined([closed("one node fails."), closed(""), closed("61 are ready")]) == "One node fails. 61 are ready."
    with translation.override("zh-hans"):
        assert joined([closed("一台未通过。"), closed("其余就绪")]) == "一台未通过。其余就绪。"


def test_a_list_takes_the_first_sentence_of_a_remedy() -> None:
    assert first_sentence("Reseat the GPU; if that fails, swap it.") == "Reseat the GPU"
    assert first_sentence("重新插拔 GPU；仍然不行时更换。") == "重新插拔 GPU"


def test_catalogue_prose_becomes_code_between_backticks_and_nothing_else_becomes_html() -> None:
    assert marked("Run `a < b` <b>now</b>") == "Run <code>a &lt; b</code> &lt;b&gt;now&lt;/b&gt;"
