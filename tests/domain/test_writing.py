"""Moments and texts that people write down."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from checks.domain.writing import as_line, is_line, is_prose, is_storable

FAR_EAST, FAR_WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))


@pytest.mark.parametrize(
    ("moment", "storable"),
    [
        (datetime(2026, 11, 29, 12, tzinfo=UTC), True),
        (datetime(2000, 1, 1, tzinfo=UTC), True),
        (datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC), False),
        (datetime(2199, 12, 31, 23, 59, 59, tzinfo=UTC), True),
        (datetime(2200, 1, 1, tzinfo=UTC), False),
        (datetime(1, 1, 1, tzinfo=FAR_EAST), False),
        (datetime(9999, 12, 31, 23, 59, tzinfo=FAR_WEST), False),
    ],
)
def test_a_moment_is_of_a_year_that_people_mean(moment: datetime, storable: bool) -> None:
    assert is_storable(moment) is storable


@pytest.mark.parametrize("text", ["", "train.yaml", "s3://corpus/v3", "语料 第三版", "Zoë", "a b"])
def test_a_line_in_any_script_is_one(text: str) -> None:
    assert is_line(text)


@pytest.mark.parametrize(
    "text", ["a\0", "a\nb", "train\u202elmay.", "a\u200bb", "a\u2066b", "a\ufeff", "a\ud800", "a\x7f", "a\u2028b"]
)
def test_a_line_hides_nothing_and_turns_nothing_around(text: str) -> None:
    assert not is_line(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("width is 8, needs = 16", "width is 8, needs = 16"), ("语料\u3000第三版", "语料 第三版"),
        ("a\0b\x7f\ud800", "ab"), ("8\n\t16\u20288\x1f", "8 16 8"), ("\u202elmay.\u200b", "lmay."), ("\ufeff", ""),
    ],
)  # fmt: skip
def test_what_a_program_writes_becomes_a_line(text: str, line: str) -> None:
    assert (as_line(text), is_line(as_line(text))) == (line, True)


def test_prose_has_lines_and_the_joiners_that_scripts_need() -> None:
    assert is_prose("Riser ordered.\r\n\tOPS-17, می\u200cخواهم, \N{MAN}\u200d\N{PERSONAL COMPUTER}")


@pytest.mark.parametrize("text", ["a\0", "a\x1b[31m", "a\ud800", "a\u202eb", "a\u2067b"])
def test_prose_holds_no_control_and_turns_nothing_around(text: str) -> None:
    assert not is_prose(text)
