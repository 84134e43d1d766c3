"""Files of lines: JSON Lines and plain text, compressed or not, read in blocks of bounded size."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, Iterator, List, NamedTuple, Optional, Tuple

from readiness_agent.audits.datasets.formats import JSONL, Kind, damage, open_text
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

BLOCK_BYTES = 2 << 20
"""Lines are handed on in batches of about this size."""

LONGEST_LINE = 64 << 20
"""A longer one is no record, and is not taken into memory."""

_BOM = b"\xef\xbb\xbf"
_TOO_LONG = f"it is longer than {LONGEST_LINE >> 20} MiB, and no record"


class Line(NamedTuple):
    """One line, with its number from 1."""

    number: int
    content: bytes


class Lines:
    """The lines of a file from where it is opened, and where it is."""

    def __init__(self, raw: BinaryIO, kind: Kind, start: Any) -> None:
        self._raw = raw
        self._stream = open_text(raw, kind.compression)
        self._damage = damage(kind.compression)
        self._offset: int = start[0] if start else 0
        self._number: int = start[1] if start else 0
        if kind.compression:
            self._read_up_to(self._offset)
        else:
            raw.seek(self._offset)

    def position(self) -> Tuple[int, int]:
        """Byte of the text, and lines before it."""
        return self._offset, self._number

    def done_bytes(self) -> int:
        """Bytes of the file, as it lies on disk, that were read."""
        return self._raw.tell()

    def block(self) -> List[Line]:
        """The next lines, about ``BLOCK_BYTES`` of them; none at the end. Blank lines are left out."""
        lines: List[Line] = []
        size = 0
        while size < BLOCK_BYTES:
            content = self._line(LONGEST_LINE + 1)
            if not content:
                break
            size += len(content)
            self._number += 1
            if len(content) > LONGEST_LINE and not content.endswith(b"\n"):
                size += self._pass_over()
            if content.strip():
                lines.append(Line(self._number, content))
        self._offset += size
        return lines if lines or not size else self.block()

    def _line(self, most: int) -> bytes:
        try:
            return self._stream.readline(most)
        except self._damage as error:
            raise Damaged(f"it breaks off or is damaged after line {self._number}: {error}") from None

    def _pass_over(self) -> int:
        """Leave the rest of a line that is too long; its length."""
        passed = 0
        while True:
            piece = self._line(BLOCK_BYTES)
            passed += len(piece)
            if not piece or piece.endswith(b"\n"):
                return passed

    def _read_up_to(self, offset: int) -> None:
        """A compressed stream has to be read to the place where reading goes on."""
        while offset > 0:
            passed = len(self._stream.read(min(offset, BLOCK_BYTES)))
            if not passed:
                raise Damaged("it is shorter than when reading began")
            offset -= passed


def read_lines(path: str, kind: Kind, start: Any, wanted: Wanted) -> Iterator[Batch]:
    """Records of *path* from *start* on (the ``end`` of an earlier batch, or None for all).

    Raises:
        Damaged: a compressed stream breaks off, or there is no record; what stood before it has been handed on.
        Unclear: nothing tells which field is trained on.
        OSError: the file cannot be read.
    """
    fields: Optional[Fields] = None
    with open(path, "rb") as raw:
        lines = Lines(raw, kind, start)
        while True:
            block = lines.block()
            if not block:
                return
            if kind.format != JSONL:
                yield _texts(block, lines)
                continue
            fields = fields or _fields(block, wanted)
            yield _records(block, fields, lines)


def count_lines(path: str, kind: Kind) -> int:
    """How many records *path* holds; blank lines are none. Raises as `read_lines` does."""
    with open(path, "rb") as raw:
        lines = Lines(raw, kind, None)
        return sum(len(block) for block in iter(lines.block, []))


def _texts(block: List[Line], lines: Lines) -> Batch:
    faults = [_fault(line, _TOO_LONG) for line in block if len(line.content) > LONGEST_LINE]
    return Batch(len(block), lines.position(), lines.done_bytes(), [one.content for one in block], faults=faults)


def _fields(block: List[Line], wanted: Wanted) -> Fields:
    """From the first record that is one: all have the same fields."""
    for line in block:
        record = _object(line.content)
        if isinstance(record, dict):
            return choose_fields({name: _holds(value) for name, value in record.items()}, wanted)
    raise Damaged(f"no line up to line {block[-1].number} is a JSON object")


def _holds(value: Any) -> str:
    if isinstance(value, str):
        return TEXT
    if isinstance(value, list):
        return IDS if value and all(_is_integer(one) for one in value[:8]) else OTHER
    return INTEGER if _is_integer(value) else OTHER


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _object(content: bytes) -> Any:
    """The JSON value of a line; bytes that are no UTF-8 are counted elsewhere and do not break it. None: no JSON."""
    try:
        return json.loads((content[3:] if content.startswith(_BOM) else content).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _fault(line: Line, said: str) -> Tuple[str, str]:
    return f"line {line.number}", said


class _Read:
    """The records of one block, taken apart."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self.texts: List[Optional[bytes]] = []
        self.ids: List[List[int]] = []
        self.lengths: List[int] = []
        self.bounds: List[int] = []
        self.sample_ids: List[Any] = []
        self.faults: List[Tuple[str, str]] = []

    def take(self, line: Line) -> None:
        """One line; what is no record is a fault, and its bytes are looked at all the same."""
        record = _object(line.content) if len(line.content) <= LONGEST_LINE else None
        if not isinstance(record, dict):
            long = len(line.content) > LONGEST_LINE
            self.faults.append(_fault(line, _TOO_LONG if long else "it is no JSON object: torn, or not JSON at all"))
            self.texts.append(line.content if self._fields.text else None)
            return
        if self._fields.text:
            self._text(line, record.get(self._fields.text))
        if self._fields.ids:
            self._ids(line, record.get(self._fields.ids))
        if self._fields.sample_id:
            self.sample_ids.append(record.get(self._fields.sample_id))

    def _text(self, line: Line, value: Any) -> None:
        if not isinstance(value, str):
            self.faults.append(_fault(line, f"its field {self._fields.text!r} is no text"))
            self.texts.append(None)
        elif _is_utf8(line.content):
            self.texts.append(value.encode("utf-8", "surrogatepass"))
        else:
            self.texts.append(line.content)

    def _ids(self, line: Line, value: Any) -> None:
        if not isinstance(value, list) or not all(map(_is_integer, value)):
            self.faults.append(_fault(line, f"its field {self._fields.ids!r} is no list of integers"))
            return
        self.lengths.append(len(value))
        self.ids.append(value[:LONGEST_DOCUMENT])
        if value:
            self.bounds += (min(value), max(value))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _records(block: List[Line], fields: Fields, lines: Lines) -> Batch:
    read = _Read(fields)
    for line in block:
        read.take(line)
    return Batch(
        len(block), lines.position(), lines.done_bytes(), read.texts, read.ids, sum(read.lengths),
        min(read.bounds, default=None), max(read.bounds, default=None),
        (min(read.lengths, default=0), max(read.lengths, default=0)), read.sample_ids, read.faults,
    )  # fmt: skip
