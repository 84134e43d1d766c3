"""A whole fleet that reports within one second: the moment after a power cut, or a badly set clock."""

import re

import pytest

from tests.journeys.user import Portal

AGENTS = 256


@pytest.fixture(scope="module")
def said(portal: Portal) -> str:
    """What the simulation printed; it ends with an error when anything was lost, doubled or answered wrongly."""
    return portal.manage("fleet", "simulate", f"--agents={AGENTS}", "--herd", "--faults=0.05", "--skew=600", "--keep")


def test_a_herd_loses_nothing_and_doubles_nothing(said: str) -> None:
    assert f"{3 * AGENTS} reports: 0 lost, 0 doubled" in said  # a daily one and two ticks of each


def test_the_gate_answers_all_through_the_herd_and_is_never_wrong(said: str) -> None:
    found = re.search(r"(\d+) gate questions: 0 wrong answers, 0 not answered", said)

    assert found, said
    assert int(found[1]) >= 4


def test_the_portal_itself_is_well_afterwards(portal: Portal, said: str) -> None:
    assert portal.ask("/readyz").status == 200
    assert portal.gate("example", nodes="example-ok")["decision"] == "ready"
