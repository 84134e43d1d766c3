"""Whether a file of zstd frames is whole: the library takes one that breaks off for one that ends there."""

from __future__ import annotations

import os
from typing import BinaryIO

from readiness_agent.audits.datasets.records import Damaged

_FRAME = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_RLE, _RESERVED = 1, 3


def check_frames(path: str) -> None:
    """Walk from block to block by their headers, without reading what is in them (RFC 8878, section 3).

    Raises:
        Damaged: a frame breaks off, or something else stands where a frame should begin.
        OSError: the file cannot be read.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while file.tell() < size:
            magic = _number(file, 4)
            if magic in _SKIPPABLE:
                file.seek(_number(file, 4), os.SEEK_CUR)
            elif magic == _FRAME:
                _pass_frame(file, size)
            else:
                raise Damaged("something that is no zstd frame follows the last one")
            if file.tell() > size:
                raise Damaged("its last zstd frame breaks off")


def _pass_frame(file: BinaryIO, size: int) -> None:
    descriptor = _number(file, 1)
    is_single, has_checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    window = 0 if is_single else 1
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    content_size = (is_single, 2, 4, 8)[descriptor >> 6]
    file.seek(window + dictionary + content_size, os.SEEK_CUR)
    is_last = 0
    while not is_last and file.tell() < size:
        header = _number(file, 3)
        is_last, kind, length = header & 1, header >> 1 & 3, header >> 3
        if kind == _RESERVED:
            raise Damaged("a block of its zstd frames is of a kind that there is not")
        file.seek(1 if kind == _RLE else length, os.SEEK_CUR)
    if not is_last:
        raise Damaged("its last zstd frame breaks off")
    file.seek(4 * has_checksum, os.SEEK_CUR)


def _number(file: BinaryIO, width: int) -> int:
    read = file.read(width)
    if len(read) < width:
        raise Damaged("its last zstd frame breaks off")
    return int.from_bytes(read, "little")
