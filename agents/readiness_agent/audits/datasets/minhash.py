"""How much two documents resemble each other, from short signatures of their runs of five words.

One hash a run (shingle), dealt to ``VALUES`` bins of which each keeps its smallest: MinHash by one permutation. A bin
that no run fell into borrows from another, in an order that is the same for all documents, so that the share of equal
values stays an unbiased estimate of the Jaccard similarity. Everything but that runs inside C.
"""

from __future__ import annotations

import re
from array import array
from operator import eq
from typing import Dict, NamedTuple, Optional, Sequence
from zlib import crc32

VALUES = 128
"""Values of a signature."""

SHINGLE = 5
"""Words, or token ids, of one run."""

LONGEST_TEXT = 1 << 20
"""Characters of a document that are looked at."""

_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u0e00-\u0eff"
                   r"\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")  # fmt: skip
"""A word; in scripts that put no spaces between words, a character."""

_BIN = (VALUES - 1).__and__
_BIN_BITS = VALUES.bit_length() - 1
_VALUE_MASK = 0xFFFF


_RANKS = [[crc32(b"%d %d" % (number, other)) for other in range(VALUES)] for number in range(VALUES)]
"""For each bin, which of the others it borrows from first: the one of the lowest rank that holds a value."""


class Signature(NamedTuple):
    """What is kept of a document."""

    anchor: int
    """Made from its smallest hash: near duplicates have the same with the probability of their similarity."""
    values: bytes
    """``VALUES`` numbers of 16 bits."""


def signature_of_text(text: str) -> Optional[Signature]:
    """The signature of a document; None for one without a word."""
    words = _WORD.findall(text[:LONGEST_TEXT].lower())
    return signature_of_ids(list(map(crc32, map(_encoded, words))))


def signature_of_ids(ids: Sequence[int]) -> Optional[Signature]:
    """The signature of a document of token ids; None for an empty one.

    The hash of a tuple of integers is the same in every process, unlike that of a text.
    """
    if not ids:
        return None
    whole = [tuple(ids)] if len(ids) < SHINGLE else []
    runs = zip(*(ids[start:] for start in range(SHINGLE)))  # noqa: B905  Python 3.9 has no strict
    hashes = sorted(set(map(hash, whole or runs)), reverse=True)
    smallest = dict(zip(map(_BIN, hashes), hashes))  # noqa: B905  Python 3.9 has no strict; the last wins: the smallest
    held = [smallest[number] if number in smallest else _borrowed(smallest, number) for number in range(VALUES)]
    values = array("H", [hashed >> _BIN_BITS & _VALUE_MASK for hashed in held])
    return Signature(hashes[-1] >> 23 & 0xFFFFFFFF, values.tobytes())


def similarity(one: memoryview, other: memoryview) -> int:
    """How many of ``VALUES`` values are equal: divided by it, an estimate of the Jaccard similarity."""
    return sum(map(eq, one.cast("H"), other.cast("H")))


def _encoded(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


def _borrowed(smallest: Dict[int, int], number: int) -> int:
    return smallest[min(smallest, key=_RANKS[number].__getitem__)]
