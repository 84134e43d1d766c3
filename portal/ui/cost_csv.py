"""Tables about costs as CSV: US dollars, to the cent."""

import csv
from collections.abc import Iterable, Iterator

from django.http import HttpResponse

from portal.ui.csv_cells import safe_cell
from portal.ui.pages.costs import LineShown

LINES_HEAD = ("line", "low_usd", "expected_usd", "high_usd", "formula", "inputs", "sources")


def line_rows(lines: Iterable[LineShown]) -> Iterator[tuple[str, ...]]:
    """One row a line; sums of lines are left out, so that the rows add up to the total."""
    for line in lines:
        if line.formula:
            amounts = (f"{amount:.2f}" for amount in (line.amount.low, line.amount.expected, line.amount.high))
            inputs = "; ".join(f"{one.name} = {one.value} {one.unit}".strip() for one in line.inputs)
            yield line.key, *amounts, line.formula, inputs, "; ".join(price.source for price in line.prices)


def csv_response(name: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> HttpResponse:
    """The rows as a file to download."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    csv.writer(response).writerows([safe_cell(cell) for cell in row] for row in (head, *rows))
    return response
