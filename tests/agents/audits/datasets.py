"""Small datasets in every format, sound ones, into which a test plants its one fault."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from readiness_agent.audits import AuditResult
from readiness_agent.audits.dataset import add_arguments, audit

SHARDS = 4
ROWS = 40
VOCABULARY = 50_000

WORDS = [f"word{number}" for number in range(4_000)]

Rows = list[dict[str, Any]]


def text_rows() -> list[Rows]:
    """Rows of four shards, 40 of 60 words each, dealt by ``sample_id % 4``, none like another."""
    dice = random.Random(7)
    return [
        [{"text": " ".join(dice.choices(WORDS, k=60)), "sample_id": place * SHARDS + shard} for place in range(ROWS)]
        for shard in range(SHARDS)
    ]


def id_rows() -> list[Rows]:
    """The same as token ids below 50,000: 12,000 tokens a shard, in rows of different lengths."""
    dice = random.Random(8)
    lengths = [280, 320] * (ROWS // 2)
    return [
        [
            {"input_ids": dice.choices(range(VOCABULARY), k=length), "sample_id": place * SHARDS + shard}
            for place, length in enumerate(lengths)
        ]
        for shard in range(SHARDS)
    ]


def write_jsonl(folder: Path, shards: Sequence[Rows], ending: str = "jsonl") -> list[Path]:
    """One file a shard; ``jsonl.gz`` is compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, rows in enumerate(shards):
        content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        path = folder / f"part-{number:05}.{ending}"
        path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
        paths.append(path)
    return paths


def write_parquet(folder: Path, shards: Sequence[Rows]) -> list[Path]:
    """One Parquet file a shard, in row groups of 16."""
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"train-{number:05}-of-{len(shards):05}.parquet" for number in range(len(shards))]
    for path, rows in zip(paths, shards, strict=True):
        pyarrow.parquet.write_table(arrow_table(rows), path, row_group_size=16)
    return paths


def write_arrow(folder: Path, shards: Sequence[Rows], stream: bool = False) -> list[Path]:
    """One Arrow file a shard, or one stream as Hugging Face's datasets writes it, in batches of 16."""
    import pyarrow

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"data-{number:05}-of-{len(shards):05}.arrow" for number in range(len(shards))]
    for path, rows in zip(paths, shards, strict=True):
        table = arrow_table(rows)
        new = pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file
        with new(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=16)
    return paths


def arrow_table(rows: Rows) -> Any:
    """Rows as a table; ids are of 32 bits."""
    import pyarrow

    table = pyarrow.Table.from_pylist(rows)
    if "input_ids" in table.column_names:
        narrow = table.column("input_ids").cast(pyarrow.list_(pyarrow.int32()))
        table = table.set_column(table.column_names.index("input_ids"), "input_ids", narrow)
    return table


def write_megatron(folder: Path, shards: Sequence[Rows], code: int = 4, form: str = "i") -> list[Path]:
    """Megatron's pairs: a document a row, in one sequence."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, rows in enumerate(shards):
        path = folder / f"corpus_{number}_document.bin"
        documents = [row["input_ids"] for row in rows]
        flat = [token for document in documents for token in document]
        path.write_bytes(struct.pack(f"<{len(flat)}{form}", *flat))
        path.with_suffix(".idx").write_bytes(megatron_index([len(one) for one in documents], code, form))
        paths.append(path)
    return paths


def megatron_index(lengths: Sequence[int], code: int = 4, form: str = "i") -> bytes:
    """The index as Megatron lays it out: sizes, places in bytes, boundaries of documents."""
    width = struct.calcsize(form)
    places = [sum(lengths[:number]) * width for number in range(len(lengths))]
    head = struct.pack("<9sQBQQ", b"MMIDIDX\x00\x00", 1, code, len(lengths), len(lengths) + 1)
    sizes = struct.pack(f"<{len(lengths)}i", *lengths)
    pointers = struct.pack(f"<{len(lengths)}q", *places)
    return head + sizes + pointers + struct.pack(f"<{len(lengths) + 1}q", *range(len(lengths) + 1))


def write_numpy(
    path: Path, tokens: Sequence[int], described: str = "<u2", shape: tuple[int, ...] | None = None
) -> Path:
    """A ``.npy`` of version 1."""
    told = repr({"descr": described, "fortran_order": False, "shape": shape or (len(tokens),)})
    head = told.ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
    form = {"u2": "H", "i4": "i", "f4": "f"}[described[1:]]
    path.write_bytes(content + struct.pack(f"{described[0]}{len(tokens)}{form}", *tokens))
    return path


def write_listing(folder: Path, listing: Path) -> Path:
    """What ``sha256sum`` prints for the files below *folder*, from inside it."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    listing.write_text("".join(lines))
    return listing


def audited(*words: object) -> AuditResult:
    """The result of ``audit dataset`` with these words."""
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="+")
    add_arguments(parser)
    return audit(parser.parse_args([str(word) for word in words]))


def facts(result: AuditResult, item: str) -> Mapping[str, Any]:
    """Facts of one item by name."""
    return {fact.name: fact.value for fact in result.facts if fact.item == item}


def problems(result: AuditResult, item: str) -> list[tuple[str, str]]:
    """Problems of one item: kind and sentence."""
    return [(problem.kind, problem.detail) for problem in result.problems if problem.item == item]


Write = Callable[[Path, Any], list[Path]]


def zstd(paths: list[Path]) -> list[Path]:
    """The same files, each compressed in its place."""
    import zstandard

    for path in paths:
        path.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    return paths


TEXTS: dict[str, Write] = {
    "JSON Lines": write_jsonl,
    "gzip": lambda folder, rows: write_jsonl(folder, rows, "jsonl.gz"),
    "zstd": lambda folder, rows: zstd(write_jsonl(folder, rows)),
    "Parquet": write_parquet,
    "Arrow file": write_arrow,
    "Arrow stream": lambda folder, rows: write_arrow(folder, rows, stream=True),
}


IDS: dict[str, Write] = {
    "JSON Lines": write_jsonl,
    "Parquet": write_parquet,
    "Arrow file": write_arrow,
    "Arrow stream": lambda folder, rows: write_arrow(folder, rows, stream=True),
    "Megatron": write_megatron,
}


def of_text(folder: Path, patterns: Path) -> AuditResult:
    return audited(folder, "--data-parallel", 4, "--patterns", patterns)


def of_ids(folder: Path, vocabulary: int = 50_000) -> AuditResult:
    return audited(folder, "--data-parallel", 4, "--vocabulary-size", vocabulary)


def cut(path: Path) -> None:
    """Keep three quarters of a file."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 3 // 4])
