"""Parquet and Arrow, read with pyarrow in slices: a file never lies in memory."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from readiness_agent.audits.datasets.formats import ARROW_FILE, PARQUET
from readiness_agent.audits.datasets.records import (
    IDS,
    INTEGER,
    LONGEST_DOCUMENT,
    OTHER,
    TEXT,
    Batch,
    Damaged,
    Fields,
    Wanted,
    choose_fields,
)  # fmt: skip
from readiness_agent.audits.libraries import library

ROWS = 1024
"""Rows that are taken apart at once."""

_BUFFER = 1 << 20
_STREAM_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_PURPOSE = "the contents of Parquet and Arrow files"


class Table(NamedTuple):
    """An open file of columns."""

    rows: Optional[int]
    """None where the file does not say it before it is read."""
    schema: Any
    slices: Callable[[Any, List[str]], Iterator[Tuple[Any, Any]]]
    """Record batches of some columns from a place on, each with the place after it."""


def read_columns(path: str, name: str, start: Any, wanted: Wanted) -> Iterator[Batch]:
    """Rows of the Parquet or Arrow file *path* from *start* on (the ``end`` of an earlier batch, or None for all).

    Raises:
        Damaged: the file is damaged.
        Unclear: nothing tells which column is trained on.
        LibraryMissing: pyarrow is not installed.
        OSError: the file cannot be read.
    """
    pyarrow = library("pyarrow", _PURPOSE)
    try:
        with open(path, "rb") as file:
            table = _open(pyarrow, file, name)
            fields = choose_fields({field.name: _holds(pyarrow, field.type) for field in table.schema}, wanted)
            for batch, end in table.slices(start, [one for one in dict.fromkeys(fields) if one]):
                for offset in range(0, batch.num_rows, ROWS):
                    piece = batch.slice(offset, ROWS)
                    is_last = offset + ROWS >= batch.num_rows
                    yield _taken_apart(pyarrow, piece, fields, end if is_last else None, file.tell())
    except (pyarrow.ArrowException, OSError) as error:
        raise _what_it_is(error) from None


def count_rows(path: str, name: str) -> int:
    """How many rows *path* has; Parquet's footer tells, Arrow's batches are passed over. Raises as `read_columns`."""
    pyarrow = library("pyarrow", _PURPOSE)
    try:
        with open(path, "rb") as file:
            table = _open(pyarrow, file, name)
            if table.rows is not None:
                return table.rows
            return sum(batch.num_rows for batch, _ in table.slices(None, []))
    except (pyarrow.ArrowException, OSError) as error:
        raise _what_it_is(error) from None


def _open(pyarrow: Any, file: Any, name: str) -> Table:
    if name == PARQUET:
        return _open_parquet(library("pyarrow.parquet", _PURPOSE), file)
    if name == ARROW_FILE:
        return _open_arrow_file(pyarrow, file)
    return _open_arrow_stream(pyarrow, file)


def _open_parquet(parquet: Any, file: Any) -> Table:
    opened = parquet.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)

    def slices(start: Any, columns: List[str]) -> Iterator[Tuple[Any, Any]]:
        for group in range(start or 0, opened.num_row_groups):
            left = opened.metadata.row_group(group).num_rows
            for batch in opened.iter_batches(ROWS, row_groups=[group], columns=columns, use_threads=False):
                left -= batch.num_rows
                yield batch, group + 1 if left <= 0 else None

    return Table(opened.metadata.num_rows, opened.schema_arrow, slices)


def _open_arrow_file(pyarrow: Any, file: Any) -> Table:
    opened = pyarrow.ipc.open_file(file)

    def slices(start: Any, columns: List[str]) -> Iterator[Tuple[Any, Any]]:
        wanted = [opened.schema.get_field_index(name) for name in columns]
        options = pyarrow.ipc.IpcReadOptions(included_fields=wanted or [0], use_threads=False)
        narrow = pyarrow.ipc.open_file(file, options=options)
        for number in range(start or 0, narrow.num_record_batches):
            yield narrow.get_batch(number), number + 1

    return Table(None, opened.schema, slices)


def _open_arrow_stream(pyarrow: Any, file: Any) -> Table:
    opened = pyarrow.ipc.open_stream(file)

    def slices(start: Any, columns: List[str]) -> Iterator[Tuple[Any, Any]]:
        for number, batch in enumerate(opened):
            if number >= (start or 0):
                yield batch.select(columns) if columns else batch, number + 1
        if file.read(1):
            raise Damaged("bytes follow its end: files that were put together are no stream")
        file.seek(-len(_STREAM_END), os.SEEK_END)
        if file.read() != _STREAM_END:
            raise Damaged("it has no end of stream: whoever wrote it was stopped")

    return Table(None, opened.schema, slices)


def _holds(pyarrow: Any, kind: Any) -> str:
    types = pyarrow.types
    if types.is_string(kind) or types.is_large_string(kind):
        return TEXT
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return IDS if types.is_integer(kind.value_type) else OTHER
    return INTEGER if types.is_integer(kind) else OTHER


def width_of(path: str, name: str, wanted: Wanted) -> Tuple[int, bool]:
    """Bits of a token id in *path*, and whether one of them is for a sign; 0 where it holds none."""
    pyarrow = library("pyarrow", _PURPOSE)
    try:
        with open(path, "rb") as file:
            schema = _open(pyarrow, file, name).schema
            fields = choose_fields({field.name: _holds(pyarrow, field.type) for field in schema}, wanted)
            kind = schema.field(fields.ids).type.value_type if fields.ids else None
    except (pyarrow.ArrowException, OSError) as error:
        raise _what_it_is(error) from None
    return (kind.bit_width, pyarrow.types.is_signed_integer(kind)) if kind is not None else (0, False)


def _taken_apart(pyarrow: Any, batch: Any, fields: Fields, end: Any, done_bytes: int) -> Batch:
    taken: Dict[str, Any] = {}
    if fields.text:
        taken["texts"] = _bytes_of(pyarrow, batch.column(fields.text))
    if fields.ids:
        taken.update(_ids_of(pyarrow, batch.column(fields.ids)))
    if fields.sample_id:
        taken["sample_ids"] = batch.column(fields.sample_id).to_pylist()
    missing = [number for number, text in enumerate(taken.get("texts", ())) if text is None]
    faults = [(f"row {number} of a batch", f"its field {fields.text!r} is empty (null)") for number in missing]
    return Batch(batch.num_rows, end, done_bytes, faults=faults + taken.pop("faults", []), **taken)


def _bytes_of(pyarrow: Any, column: Any) -> List[Optional[bytes]]:
    """Texts as bytes: pyarrow would end at the first that is no UTF-8, and counting them is our business."""
    large = pyarrow.types.is_large_string(column.type)
    binary = column.cast(pyarrow.large_binary() if large else pyarrow.binary())
    binary.validate(full=True)  # offsets that lead out of the file must not be followed
    texts: List[Optional[bytes]] = binary.to_pylist()
    return texts


def _ids_of(pyarrow: Any, column: Any) -> Dict[str, Any]:
    column.validate(full=True)
    compute = library("pyarrow.compute", _PURPOSE)
    lengths = [length for length in compute.list_value_length(column).to_pylist() if length is not None]
    bounds = compute.min_max(column.flatten()).as_py()
    empty = column.null_count
    return {
        "ids": [ids[:LONGEST_DOCUMENT] for ids in column.to_pylist() if ids is not None],
        "tokens": sum(lengths),
        "lowest": bounds["min"],
        "highest": bounds["max"],
        "row_lengths": (min(lengths, default=0), max(lengths, default=0)),
        "faults": [("a batch", f"{empty} rows hold no token ids (null)")] if empty else [],
    }


def _what_it_is(error: Exception) -> Exception:
    """pyarrow says that a file breaks off with an OSError that no system call gave."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    first_line = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return Damaged(f"it is damaged: {first_line}")
