"""Outputs of nccl-tests as other versions, options and surroundings print them."""

from __future__ import annotations

import re

import pytest

from readiness_agent.parsers.kinds import SAVED
from readiness_agent.parsers.saved import Saved
from tests.agents.parsers.test_saved_damage import NCCL

CHANNELS = "gpu001:11111:11150 [0] NCCL INFO Channel 00/24 :    0   1   2   3   4   5   6   7\n"


def read(text: str) -> tuple[dict[str, object], list[str]]:
    saved: Saved = SAVED["nccl-tests"].read(text)
    return {fact.name: fact.value for fact in saved.facts}, [*map(str, saved.problems)]


WHOLE = read(NCCL)


def test_the_sample_has_its_figure_and_no_problem() -> None:
    assert (WHOLE[0]["busbw"], WHOLE[0]["message_size"], WHOLE[1]) == (210.68, 2048, [])


def test_lines_of_nccl_itself_between_the_rows_are_no_rows() -> None:
    assert read(NCCL.replace("        2048", f"{CHANNELS}        2048")) == WHOLE


@pytest.mark.parametrize("word", ["OK", "FAILED"])
def test_an_average_held_against_a_floor_of_the_tool_is_the_average(word: str) -> None:
    """``NCCL_TESTS_MIN_BW``: the floor that counts is the portal's."""
    assert read(NCCL.replace(": 190.04", f": 190.04 {word}")) == WHOLE


def test_a_time_behind_each_row_changes_nothing() -> None:
    stamped = re.sub(r"(?m)^( +[0-9]+ .*)$", r"\1   2026-11-30 12:00:00", NCCL)

    assert stamped != NCCL
    assert read(stamped) == WHOLE


@pytest.mark.parametrize(("step", "asked"), [("2(factor)", 3000), ("1024(bytes)", 3000)])
def test_the_last_size_that_fits_is_the_largest(step: str, asked: int) -> None:
    assert read(NCCL.replace("step: 2(factor)", f"step: {step}").replace("maxBytes 2048", f"maxBytes {asked}")) == WHOLE


@pytest.mark.parametrize(("step", "asked"), [("2(factor)", 4096), ("1024(bytes)", 3072)])
def test_a_size_that_would_have_fitted_and_is_not_there_is_missing(step: str, asked: int) -> None:
    facts, problems = read(
        NCCL.replace("step: 2(factor)", f"step: {step}").replace("maxBytes 2048", f"maxBytes {asked}")
    )

    assert "busbw" not in facts
    assert problems == [f"the run was asked for {asked} bytes and shows no size above 2048"]
