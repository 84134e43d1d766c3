"""Files of token ids as they lie in memory: Megatron's ``.bin`` with its ``.idx``, and NumPy's ``.npy``."""

from __future__ import annotations

import ast
import os
import struct
import sys
from array import array
from typing import Any, BinaryIO, Dict, Iterator, List, NamedTuple, Optional, Tuple

from readiness_agent.audits.datasets.formats import INDEX_MAGIC
from readiness_agent.audits.datasets.records import LONGEST_DOCUMENT, Batch, Damaged, Unclear

BLOCK_TOKENS = 1 << 19
"""Tokens that are in memory at once."""

_CODES = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 8: "H", 9: "I", 10: "Q"}
"""Type codes of Megatron's index that hold integers, as Python's array calls them; 6 and 7 are floating point."""

_HEADER = struct.Struct("<9sQBQQ")
_NUMPY_CODES = {
    "u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "u8": "Q", "i8": "q",
}  # fmt: skip
_LONGEST_HEADER = 65_536


class Index(NamedTuple):
    """The head of one ``.idx``, and where its three tables begin."""

    path: str
    code: str
    sequences: int
    documents: int
    """Boundaries of documents: one more than there are documents."""

    @property
    def width(self) -> int:
        """Bytes a token."""
        return array(self.code).itemsize

    @property
    def pointers_at(self) -> int:
        return _HEADER.size + 4 * self.sequences

    @property
    def documents_at(self) -> int:
        return self.pointers_at + 8 * self.sequences

    @property
    def length(self) -> int:
        """Bytes that the index itself must have."""
        return self.documents_at + 8 * self.documents


def read_index(path: str) -> Index:
    """The head of Megatron's index at *path*.

    Raises:
        Damaged: it is cut off.
        Unclear: it is of a version that is not known, or not of integers.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(INDEX_MAGIC):
        raise Damaged("its index breaks off in the header")
    _, version, code, sequences, documents = _HEADER.unpack(head)
    if version != 1 or code not in _CODES:
        raise Unclear(f"its index is of version {version} with type {code}; version 1 with integers is known")
    return Index(path, _CODES[code], sequences, documents)


def index_faults(index: Index, data_bytes: int) -> Iterator[Tuple[str, str]]:
    """Where the index and the file of *data_bytes* it belongs to do not agree."""
    size = os.path.getsize(index.path)
    if size < index.length:
        yield "index", f"it breaks off: {size} bytes of {index.length}"
        return
    expected = 0
    for number, (tokens, pointer) in enumerate(_entries(index)):
        if pointer != expected or tokens < 0:
            yield f"sequence {number}", f"it should begin at byte {expected}, the index says {pointer}"
            return
        expected += tokens * index.width
    if expected != data_bytes:
        yield "index", f"it tells of {expected} bytes of tokens, the file has {data_bytes}"
    yield from _boundary_faults(index)


def _boundary_faults(index: Index) -> Iterator[Tuple[str, str]]:
    before = 0
    for number, boundary in enumerate(_table(index.path, index.documents_at, "q", index.documents)):
        if boundary < before or boundary > index.sequences or (number == 0 and boundary):
            yield f"document {number}", f"its boundary {boundary} lies outside of the {index.sequences} sequences"
            return
        before = boundary
    if index.documents and before != index.sequences:
        yield "index", f"its documents end at sequence {before} of {index.sequences}"


def _entries(index: Index) -> Iterator[Tuple[int, int]]:
    """Length and place of each sequence."""
    sizes = _table(index.path, _HEADER.size, "i", index.sequences)
    pointers = _table(index.path, index.pointers_at, "q", index.sequences)
    return zip(sizes, pointers)  # noqa: B905  Python 3.9 has no strict


def _table(path: str, offset: int, code: str, count: int) -> Iterator[int]:
    """Numbers of one table, read in blocks."""
    with open(path, "rb") as file:
        file.seek(offset)
        while count > 0:
            numbers = _numbers(file, code, min(count, BLOCK_TOKENS))
            if not numbers:
                return
            count -= len(numbers)
            yield from numbers


def _numbers(file: BinaryIO, code: str, count: int, swapped: bool = sys.byteorder == "big") -> array[int]:
    """Up to *count* whole numbers."""
    numbers = array(code)
    read = file.read(count * numbers.itemsize)
    numbers.frombytes(read[: len(read) - len(read) % numbers.itemsize])
    if swapped:
        numbers.byteswap()
    return numbers


def read_megatron(path: str, index: Index, start: Any) -> Iterator[Batch]:
    """Documents of the file *path* from *start* on (the ``end`` of an earlier batch: document and byte).

    Raises:
        Damaged: the file ends before the index does.
        OSError: it cannot be read.
    """
    document, offset = start or (0, 0)
    collected = _Collected()
    with open(path, "rb") as file:
        file.seek(offset)
        for tokens in _document_lengths(index, document):
            _take_document(file, index, tokens, collected)
            document += 1
            if collected.tokens >= BLOCK_TOKENS:
                yield collected.batch((document, file.tell()), file.tell())
                collected = _Collected()
        if collected.rows:
            yield collected.batch((document, file.tell()), file.tell())


class _Collected:
    """Documents until they make a batch."""

    def __init__(self) -> None:
        self.rows = self.tokens = 0
        self.bounds: List[int] = []
        self.ids: List[array[int]] = []
        self.lengths: List[int] = []

    def batch(self, end: Any, done_bytes: int) -> Batch:
        shortest, longest = min(self.lengths, default=0), max(self.lengths, default=0)
        low, high = min(self.bounds, default=None), max(self.bounds, default=None)
        return Batch(self.rows, end, done_bytes, (), self.ids, self.tokens, low, high, (shortest, longest))


def _document_lengths(index: Index, first: int) -> Iterator[int]:
    """Tokens of each document from number *first* on: a document is some sequences in a row."""
    boundaries: Iterator[int] = _table(index.path, index.documents_at, "q", index.documents)
    if not index.documents:
        boundaries = iter(range(index.sequences + 1))  # it names no documents: each sequence is one
    sizes = _table(index.path, _HEADER.size, "i", index.sequences)
    before = next(boundaries, 0)
    for number, boundary in enumerate(boundaries):
        tokens = sum(next(sizes, 0) for _ in range(boundary - before))
        before = boundary
        if number >= first:
            yield tokens


def _take_document(file: BinaryIO, index: Index, tokens: int, collected: _Collected) -> None:
    head: Optional[array[int]] = None
    left = tokens
    while left > 0:
        numbers = _numbers(file, index.code, min(left, BLOCK_TOKENS))
        if not numbers:
            raise Damaged(f"it ends {left * index.width} bytes before its index does")
        head = numbers[:LONGEST_DOCUMENT] if head is None else head
        collected.bounds += (min(numbers), max(numbers))
        left -= len(numbers)
    collected.rows += 1
    collected.tokens += tokens
    collected.lengths.append(tokens)
    collected.ids.append(head if head is not None else array(index.code))


class Numpy(NamedTuple):
    """The head of one ``.npy``."""

    code: str
    swapped: bool
    shape: Tuple[int, ...]
    data_at: int

    @property
    def tokens(self) -> int:
        product = 1
        for length in self.shape:
            product *= length
        return product

    @property
    def width(self) -> int:
        """Bytes a token."""
        return array(self.code).itemsize


def read_numpy_header(path: str) -> Numpy:
    """What the ``.npy`` at *path* says of itself.

    Raises:
        Damaged: the header breaks off.
        Unclear: the array is none of integers in one or two dimensions.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(10)
        is_long = len(head) >= 7 and head[6] >= 2
        size = head[8:10] + (file.read(2) if is_long else b"")
        length = int.from_bytes(size, "little")
        text = file.read(min(length, _LONGEST_HEADER))
    if len(head) < 10 or len(text) < length:
        raise Damaged("its header breaks off")
    told = _literal(text)
    described, shape = str(told.get("descr", "")), told.get("shape")
    code = _NUMPY_CODES.get(described[1:])
    if code is None or described[:1] not in "<>|=" or shape is None or not _is_shape(shape):
        raise Unclear(f"it holds {described or 'nothing that is told'}, not token ids in one or two dimensions")
    big = described[0] == ">" or (described[0] == "=" and sys.byteorder == "big")
    return Numpy(code, big != (sys.byteorder == "big"), tuple(shape), len(head) + (2 if is_long else 0) + length)


def _literal(text: bytes) -> Dict[str, Any]:
    try:
        told = ast.literal_eval(text.decode("latin-1").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    return told if isinstance(told, dict) else {}


def _is_shape(shape: Any) -> bool:
    fits = isinstance(shape, tuple) and 1 <= len(shape) <= 2
    return fits and all(isinstance(length, int) and 0 <= length < 2**48 for length in shape)


def read_numpy(path: str, header: Numpy, start: Any) -> Iterator[Batch]:
    """Rows of the array in *path* from *start* on (the byte where an earlier batch ended).

    Raises:
        Damaged: the file is shorter than its header says.
        OSError: it cannot be read.
    """
    offset = start or header.data_at
    end = header.data_at + header.tokens * header.width
    row = header.shape[1] if len(header.shape) == 2 else 0
    with open(path, "rb") as file:
        file.seek(offset)
        while offset < end:
            numbers = _numbers(file, header.code, min(BLOCK_TOKENS, (end - offset) // header.width), header.swapped)
            if not numbers:
                raise Damaged(f"it ends {end - offset} bytes before what its header says")
            before, offset = (offset - header.data_at) // header.width, offset + len(numbers) * header.width
            rows = (before + len(numbers)) // row - before // row if row else 0
            yield Batch(
                rows, offset, offset, tokens=len(numbers), lowest=min(numbers), highest=max(numbers),
                row_lengths=(row, row),
            )  # fmt: skip
