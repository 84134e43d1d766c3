"""The reader for each format."""

from __future__ import annotations

import os
from typing import Any, Iterator, Tuple

from readiness_agent.audits.datasets.columns import count_rows, read_columns, width_of
from readiness_agent.audits.datasets.formats import (
    ARROW_FILE,
    ARROW_STREAM,
    JSONL,
    MEGATRON,
    NUMPY,
    PARQUET,
    TEXT,
    ZSTD,
)
from readiness_agent.audits.datasets.indexed import (
    index_faults,
    read_index,
    read_megatron,
    read_numpy,
    read_numpy_header,
)  # fmt: skip
from readiness_agent.audits.datasets.inventory import Shard
from readiness_agent.audits.datasets.lines import count_lines, read_lines
from readiness_agent.audits.datasets.records import Batch, Unclear, Wanted
from readiness_agent.audits.datasets.zstd_frames import check_frames

_COLUMNS = (PARQUET, ARROW_FILE, ARROW_STREAM)


def read_shard(shard: Shard, start: Any, wanted: Wanted) -> Iterator[Batch]:
    """Records of *shard* from *start* on.

    Raises:
        Damaged, Unclear: it cannot be read to its end, and why.
        LibraryMissing: it needs a library that is not installed.
        OSError: it cannot be read.
    """
    name = shard.kind.format
    if name in _COLUMNS:
        return read_columns(shard.path, name, start, wanted)
    if name == MEGATRON:
        return read_megatron(shard.path, read_index(shard.index_path), start)
    if name == NUMPY:
        return read_numpy(shard.path, read_numpy_header(shard.path), start)
    if name in (JSONL, TEXT):
        return read_lines(shard.path, shard.kind, start, wanted)
    raise Unclear("its first bytes are of no format that is known")


def token_width(shard: Shard, wanted: Wanted) -> Tuple[int, bool]:
    """Bits of one token id, and whether one of them is a sign; 0 where ids have no width. Raises as `read_shard`."""
    name = shard.kind.format
    if name in _COLUMNS:
        return width_of(shard.path, name, wanted)
    if name in (MEGATRON, NUMPY):
        held = read_index(shard.index_path) if name == MEGATRON else read_numpy_header(shard.path)
        return held.width * 8, held.code.islower()
    return 0, False


def structure_faults(shard: Shard) -> Iterator[Tuple[str, str]]:
    """Where a shard contradicts the file that describes it, before it is read. Raises as `read_shard`."""
    if shard.kind.compression == ZSTD:
        check_frames(shard.path)
    elif shard.kind.format == MEGATRON:
        yield from index_faults(read_index(shard.index_path), shard.size)
    elif shard.kind.format == NUMPY:
        header = read_numpy_header(shard.path)
        told = header.data_at + header.tokens * header.width
        if told != shard.size:
            yield "header", f"it tells of {told} bytes, the file has {shard.size}"


def rows_of(shard: Shard) -> int:
    """How many records *shard* holds, without looking at them. Raises as `read_shard`."""
    name = shard.kind.format
    if name in _COLUMNS:
        return count_rows(shard.path, name)
    if name == MEGATRON:
        index = read_index(shard.index_path)
        return max(index.documents - 1, 0) if index.documents else index.sequences
    if name == NUMPY:
        shape = read_numpy_header(shard.path).shape
        if len(shape) == 1:
            raise Unclear("an array of one dimension has no records")
        return shape[0]
    if shard.kind.compression == ZSTD:
        check_frames(shard.path)
    if name in (JSONL, TEXT):
        return count_lines(shard.path, shard.kind)
    raise Unclear(f"{os.path.basename(shard.path)} is of no format that is known")
