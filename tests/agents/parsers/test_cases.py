"""The hundred real outputs of ``../shared/cases``: what ``parse`` reads from each is exactly what it says.

``tests/cases/ID.json`` was written from the text and from the prose beside it, never from an answer of a parser: facts
as ``[item, subject, name, value, unit]``, problems as ``[item, subject, kind]``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.commands.parse import main
from tests.agents.parsers.inputs import SHARED

CASES = SHARED / "cases"
EXPECTED = Path(__file__).resolve().parents[2] / "cases"
LISTED: list[dict[str, Any]] = json.loads((CASES / "cases.json").read_text()) if CASES.exists() else []
"""Empty where ``../shared`` is not here: then there is nothing to try."""

Row = tuple[Any, ...]


def parsed(capsys: pytest.CaptureFixture[str], kind: str, file: Path) -> tuple[int, list[Row], list[Row]]:
    """Exit code, facts and problems of ``readiness-agent parse KIND FILE``."""
    code = main([kind, str(file)])
    document = json.loads(capsys.readouterr().out)
    facts = [(one["item"], one["subject"], one["name"], one["value"], one["unit"]) for one in document["facts"]]
    return code, facts, [(one["item"], one["subject"], one["kind"]) for one in document["problems"]]


def differences(expected: list[Row], found: list[Row]) -> list[str]:
    """Rows of only one side; equal numbers need not be spelled alike, and a switch is no number."""
    wanted, read = Counter(map(_comparable, expected)), Counter(map(_comparable, found))
    missing = [f"not read: {row}" for row in (wanted - read).elements()]
    return missing + [f"not in the file: {row}" for row in (read - wanted).elements()]


def _comparable(row: Row) -> Row:
    return tuple(
        f"{cell:.12g}" if isinstance(cell, (int, float)) and not isinstance(cell, bool) else repr(cell) for cell in row
    )


def test_every_listed_output_has_an_expectation_and_there_is_none_besides() -> None:
    if not LISTED:
        pytest.skip("../shared/cases is not here")

    assert {one["id"] for one in LISTED} == {file.stem for file in EXPECTED.glob("*.json")}
    assert len(LISTED) == 100


@pytest.mark.parametrize("case", LISTED, ids=lambda case: str(case["id"]))
def test_a_real_output_says_exactly_what_was_read_from_it_by_eye(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    expected = json.loads((EXPECTED / f"{case['id']}.json").read_text())

    code, facts, problems = parsed(capsys, case["kind"], CASES / case["file"])

    assert (expected["kind"], expected["file"]) == (case["kind"], case["file"])
    assert differences(list(map(tuple, expected["facts"])), facts) == []
    assert differences(list(map(tuple, expected["problems"])), problems) == []
    assert code == (2 if problems or not facts else 0)


def test_a_number_is_compared_as_a_number_and_a_switch_as_a_switch() -> None:
    assert differences([("i", "", "n", 400, "Gb/s")], [("i", "", "n", 400.0, "Gb/s")]) == []
    assert len(differences([("i", "", "n", True, "bool")], [("i", "", "n", 1, "bool")])) == 2
    assert len(differences([("i", "", "n", 1, "count")], [("i", "", "n", math.nextafter(1.001, 2), "count")])) == 2
