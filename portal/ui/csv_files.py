"""Tables as CSV, a record at a time: of a fleet or of years they are long."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from django.http import StreamingHttpResponse

from portal.ui.csv_cells import safe_cell


def csv_file(name: str, head: Sequence[str], records: Iterable[Sequence[str]]) -> StreamingHttpResponse:
    """The table as a download called *name*."""
    response = StreamingHttpResponse(_csv_lines(chain([head], records)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


class _Echo:
    """A file that hands back what is written to it, for csv to stream through."""

    def write(self, text: str) -> str:
        return text


def _csv_lines(records: Iterable[Sequence[str]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield from (writer.writerow([safe_cell(cell) for cell in record]) for record in records)
