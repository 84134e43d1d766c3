"""What a file is, by its first bytes: a name proves nothing."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from typing import BinaryIO, NamedTuple, Tuple, Type

from readiness_agent.audits.libraries import library

PARQUET, ARROW_FILE, ARROW_STREAM = "parquet", "arrow file", "arrow stream"
MEGATRON, MEGATRON_INDEX, NUMPY = "megatron", "megatron index", "numpy"
JSONL, TEXT, UNKNOWN = "jsonl", "text", "unknown"

FAMILIES = {
    PARQUET: "parquet", ARROW_FILE: "arrow", ARROW_STREAM: "arrow", MEGATRON: "memory-mapped", NUMPY: "memory-mapped",
    JSONL: "jsonl", TEXT: "text", UNKNOWN: "unknown",
}  # fmt: skip
"""The catalogue's word for each format."""

GZIP, ZSTD = "gzip", "zstd"

INDEX_MAGIC = b"MMIDIDX\x00\x00"
"""Megatron's index of a memory-mapped file of token ids."""

_HEAD = 4096
_BUFFER = 1 << 20
_GZIP_BITS = 31
_PREFIXES = (
    (b"PAR1", PARQUET), (b"ARROW1\x00\x00", ARROW_FILE), (INDEX_MAGIC, MEGATRON_INDEX), (b"\x93NUMPY", NUMPY),
)  # fmt: skip
_COMPRESSED = ((b"\x1f\x8b\x08", GZIP), (b"\x28\xb5\x2f\xfd", ZSTD))
_TEXT_CONTROLS = frozenset(b"\t\n\r\x0b\x0c\x1b")


class Kind(NamedTuple):
    """The format of a file, and what it is compressed with, if anything."""

    format: str
    compression: str = ""


def identify(path: str) -> Kind:
    """What *path* holds.

    Raises:
        OSError: it cannot be read.
        LibraryMissing: it is compressed with what this Python cannot undo.
    """
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    for magic, compression in _COMPRESSED:
        if head.startswith(magic):
            return Kind(_of_text(_inside(path, compression)), compression)
    return Kind(_of_head(head))


def open_text(raw: BinaryIO, compression: str) -> BinaryIO:
    """The text in *raw*, whatever it is compressed with; ``raw.tell()`` still says how far it was read."""
    if compression == GZIP:
        return gzip.GzipFile(fileobj=raw, mode="rb")  # type: ignore[return-value]
    if compression == ZSTD:
        zstandard = library("zstandard", "a file compressed with zstd")
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return io.BufferedReader(reader, _BUFFER)
    return raw


def damage(compression: str) -> Tuple[Type[Exception], ...]:
    """What reading raises where a compressed stream breaks off or is damaged."""
    if compression == ZSTD:
        return (EOFError, library("zstandard", "a file compressed with zstd").ZstdError)
    return (EOFError, zlib.error, gzip.BadGzipFile)


def _inside(path: str, compression: str) -> bytes:
    """The first bytes under the compression; none of what is damaged from the start."""
    with open(path, "rb") as raw:
        try:
            if compression == GZIP:  # not through a file: what it reads before the damage would be lost
                return zlib.decompressobj(_GZIP_BITS).decompress(raw.read(_BUFFER), _HEAD)
            return open_text(raw, compression).read(_HEAD)
        except damage(compression):
            return b""


def _of_head(head: bytes) -> str:
    for magic, name in _PREFIXES:
        if head.startswith(magic):
            return name
    if head.startswith(b"\xff\xff\xff\xff") and len(head) >= 8 and struct.unpack_from("<i", head, 4)[0] > 0:
        return ARROW_STREAM
    return _of_text(head)


def _of_text(head: bytes) -> str:
    """JSON by its brace; text where no byte is one that no text holds."""
    begin = head[3:].lstrip() if head.startswith(b"\xef\xbb\xbf") else head.lstrip()
    if begin.startswith(b"{"):
        return JSONL
    controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in head)
    return TEXT if begin and not controls else UNKNOWN
