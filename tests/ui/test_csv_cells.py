"""Files for spreadsheets hold texts that others wrote, and none of them is run."""

import csv
import io

import pytest

from portal.ui.cost_csv import csv_response
from portal.ui.csv_cells import safe_cell


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=", "-"])
def test_a_text_that_begins_like_a_formula_stays_text(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-12.00", "+3", "7", "gpu-001", "a=b", ""])
def test_a_number_and_any_other_text_stay_what_they_are(text: str) -> None:
    assert safe_cell(text) == text


def test_the_source_of_a_price_is_no_formula_in_a_file_of_costs() -> None:
    response = csv_response("lines.csv", ("line", "usd", "source"), [("idle", "-5.00", '=HYPERLINK("x")')])

    assert list(csv.reader(io.StringIO(response.content.decode()))) == [
        ["line", "usd", "source"], ["idle", "-5.00", "'=HYPERLINK(\"x\")"],
    ]  # fmt: skip
