"""TensorBoard's event files: scalars by step, read from the record format and the few protobuf fields they need.

A record is its length (8 bytes), a checksum of the length (4), the data, and a checksum of the data (4).
"""

from __future__ import annotations

import struct
from typing import BinaryIO, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from readiness_agent.audits.logs.steps import Step, field_of

LONGEST_RECORD = 64 * 1024 * 1024
"""Bytes of one event: pictures are long; what is longer still is damage."""

_HEADER = struct.Struct("<QI")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EVENT_STEP, _EVENT_SUMMARY = 2, 5
_SUMMARY_VALUE, _VALUE_TAG, _VALUE_SIMPLE, _VALUE_TENSOR = 1, 1, 2, 8
_TENSOR_TYPE, _TENSOR_CONTENT, _TENSOR_FLOATS = 1, 4, 5
_FLOAT = 1
_POLYNOMIAL = 0x82F63B78

Field = Tuple[int, Union[int, bytes]]


class Scalar(NamedTuple):
    """One value of one tag."""

    step: int
    tag: str
    value: float


class Damaged(Exception):
    """The file ends in the middle of a record, or is none of these."""


def is_events(head: bytes) -> bool:
    """Whether a file that begins with *head* is one of events: its first length has its own checksum."""
    if len(head) < _HEADER.size:
        return False
    length, check = _HEADER.unpack(head[: _HEADER.size])
    return bool(length < LONGEST_RECORD and check == _masked(head[:8]))


def read_steps(file: BinaryIO, name: str) -> Iterator[Step]:
    """Steps in the order in which they were written; scalars of one step that follow each other are one.

    Raises:
        Damaged: behind what could be read.
    """
    number: Optional[int] = None
    values: Dict[str, float] = {}
    for scalar in _scalars(file):
        field = None if " vs " in scalar.tag else field_of(scalar.tag)  # Megatron's "vs samples" counts no steps
        if field is None:
            continue
        if number is not None and scalar.step != number:
            yield Step(number, values, False, f"{name} step {number}")
            values = {}
        number = scalar.step
        values.setdefault(field, scalar.value)
    if number is not None and values:
        yield Step(number, values, False, f"{name} step {number}")


def _scalars(file: BinaryIO) -> Iterator[Scalar]:
    for data in _records(file):
        step, summaries = 0, []
        for field, held in _fields(data):
            if field == _EVENT_STEP and isinstance(held, int):
                step = held
            elif field == _EVENT_SUMMARY and isinstance(held, bytes):
                summaries.append(held)
        for summary in summaries:
            for field, held in _fields(summary):
                if field == _SUMMARY_VALUE and isinstance(held, bytes):
                    yield from _scalar(step, held)


def _records(file: BinaryIO) -> Iterator[bytes]:
    while True:
        header = file.read(_HEADER.size)
        if not header:
            return
        if not is_events(header):
            raise Damaged("a record's length does not fit its checksum, or the file ends within it")
        length = _HEADER.unpack(header)[0]
        data = file.read(length + 4)
        if len(data) < length + 4:
            raise Damaged("the file ends in the middle of a record: it may still be written")
        yield data[:length]


def _scalar(step: int, data: bytes) -> Iterator[Scalar]:
    tag, value = "", None
    for field, held in _fields(data):
        if field == _VALUE_TAG and isinstance(held, bytes):
            tag = held.decode("utf-8", "replace")
        elif field == _VALUE_SIMPLE and isinstance(held, bytes):
            value = struct.unpack("<f", held)[0]
        elif field == _VALUE_TENSOR and isinstance(held, bytes):
            value = _of_tensor(held)
    if tag and value is not None:
        yield Scalar(step, tag, value)


def _of_tensor(data: bytes) -> Optional[float]:
    """The one float in a tensor, which newer writers use for scalars."""
    floats: List[bytes] = []
    kind = 0
    for field, held in _fields(data):
        if field == _TENSOR_TYPE and isinstance(held, int):
            kind = held
        elif field in (_TENSOR_CONTENT, _TENSOR_FLOATS) and isinstance(held, bytes):
            floats.append(held)
    joined = b"".join(floats)
    return float(struct.unpack("<f", joined)[0]) if kind == _FLOAT and len(joined) == 4 else None


def _fields(data: bytes) -> Iterator[Field]:
    """Number and raw value of each field of one message; a message that is no such thing ends it."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            number, at = _varint(data, at)
            yield key >> 3, number
            continue
        size = 8 if kind == _FIXED64 else 4
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind not in (_FIXED64, _FIXED32):
            raise Damaged("an event holds a field of a kind that does not exist")
        if at + size > len(data):
            raise Damaged("a field reaches beyond the end of its event")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    result = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        result |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return result, at
    raise Damaged("a number reaches beyond the end of its event")


def _table() -> List[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def _masked(data: bytes) -> int:
    """CRC-32C as the format masks it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
