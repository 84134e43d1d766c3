"""The share of documents that resemble an earlier one, in bounded memory.

Signatures are kept until there are ``MOST_KEPT``. Then half of all *anchors* (values of the smallest hash) are given
up, and so on: what is kept is a sample of whole buckets of a hash, in which near duplicates stay together, and never a
sample of documents, in which they would lose each other. At the end bands of the signatures are compared.
"""

from __future__ import annotations

import math
from array import array
from typing import Dict, List, NamedTuple, Sequence, Tuple

from readiness_agent.audits.datasets.minhash import SHINGLE, VALUES, Signature, similarity

MOST_KEPT = 200_000
"""Signatures that are kept: about 55 MB, and as much again while they are compared."""

SIMILAR = 0.8
"""Jaccard similarity from which two documents are near duplicates."""

BANDS = 16
ROWS = VALUES // BANDS
"""Two documents are compared when all values of one band are equal: at 0.8 that is missed by 1 pair in 18."""

_BAND_BYTES = ROWS * 2
_SIGNATURE_BYTES = VALUES * 2
_MOST_A_BUCKET = 8
"""Earlier documents of one bucket that a document is compared with."""

_GROUPS = 32
_T_95 = 2.0395
"""Student's t for 95 % and 31 degrees of freedom."""

_Z_95 = 1.96


class Estimate(NamedTuple):
    """What was found, in percent of all documents that hold a word."""

    share: float
    low: float
    high: float
    method: str


class Kept:
    """Signatures of the documents read so far, or of a sample of them."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self.anchors = array("Q")
        self.signatures = bytearray()
        self.documents = 0
        self.halvings = 0

    def __len__(self) -> int:
        return len(self.anchors)

    def add(self, signature: Signature) -> None:
        """Keep one more document, when its anchor is in the sample."""
        self.documents += 1
        if signature.anchor & self._mask():
            return
        self.anchors.append(signature.anchor)
        self.signatures += signature.values
        while len(self.anchors) > self._most and self.halvings < 20:
            self._halve()

    def _mask(self) -> int:
        return (1 << self.halvings) - 1

    def _halve(self) -> None:
        self.halvings += 1
        staying = [place for place, anchor in enumerate(self.anchors) if not anchor & self._mask()]
        self.signatures = bytearray().join(self.signature(place) for place in staying)
        self.anchors = array("Q", [self.anchors[place] for place in staying])

    def signature(self, place: int) -> memoryview:
        """Values of the document kept at *place*."""
        return memoryview(self.signatures)[place * _SIGNATURE_BYTES : (place + 1) * _SIGNATURE_BYTES]


def estimate(kept: Kept) -> Estimate:
    """Share of documents that resemble one before them, with the interval of what was not looked at.

    Of all documents: from those that certainly do to those that may, as a signature tells similarity only to within
    some percent. Of a sample: 95 % by the spread between random groups of buckets, besides.
    """
    best = _best_matches(kept)
    error = _Z_95 * math.sqrt(SIMILAR * (1 - SIMILAR) / VALUES)
    share, spread = _weighed(kept, best, SIMILAR)
    low, low_spread = _weighed(kept, best, SIMILAR + error)
    high, high_spread = _weighed(kept, best, SIMILAR - error)
    low, high = max(low - low_spread, 0.0), min(max(high + high_spread, share + spread), 1.0)
    return Estimate(share * 100, low * 100, high * 100, _method(kept, low * 100, high * 100))


def _method(kept: Kept, low: float, high: float) -> str:
    part = f"1 in {1 << kept.halvings} by smallest hash" if kept.halvings else "all"
    return (
        f"MinHash of {SHINGLE}-word runs, {VALUES} values, {BANDS} bands of {ROWS}, similar from {SIMILAR}; "
        f"{len(kept)} of {kept.documents} documents ({part}); 95 % interval {low:.2f} to {high:.2f} %"
    )


def _best_matches(kept: Kept) -> bytearray:
    """For each kept document, equal values with the earlier document that is most like it; 0 where none is."""
    best = bytearray(len(kept))
    for band in range(BANDS):
        buckets: Dict[bytes, List[int]] = {}
        for place in range(len(kept)):
            _compare(kept, buckets.setdefault(_key(kept, place, band), []), place, best)
    return best


def _key(kept: Kept, place: int, band: int) -> bytes:
    begin = place * _SIGNATURE_BYTES + band * _BAND_BYTES
    return bytes(kept.signatures[begin : begin + _BAND_BYTES])


def _compare(kept: Kept, earlier: List[int], place: int, best: bytearray) -> None:
    for other in earlier:
        if best[place] == VALUES:
            break
        best[place] = max(best[place], _alike(kept, place, other))
    if len(earlier) < _MOST_A_BUCKET:
        earlier.append(place)


def _alike(kept: Kept, place: int, other: int) -> int:
    one, two = kept.signature(place), kept.signature(other)
    return VALUES if one == two else similarity(one, two)


def _weighed(kept: Kept, best: Sequence[int], least: float) -> Tuple[float, float]:
    """Share of documents at least this similar to an earlier one, and half of its 95 % interval by sampling."""
    if not len(kept):
        return 0.0, 0.0
    found, documents = [0.0] * _GROUPS, [0] * _GROUPS
    for anchor, matches in zip(kept.anchors, best):  # noqa: B905  Python 3.9 has no strict
        group = (anchor >> kept.halvings) % _GROUPS
        documents[group] += 1
        if matches >= least * VALUES:
            found[group] += _weight(matches / VALUES, kept.halvings)
    share = sum(found) / len(kept)
    return share, _T_95 * _standard_error(found, documents, share) if kept.halvings else 0.0


def _weight(alike: float, halvings: int) -> float:
    """One over the chance that a document in the sample has its likeness there too."""
    return 1 / (alike + (1 - alike) / (1 << halvings))


def _standard_error(found: Sequence[float], documents: Sequence[int], share: float) -> float:
    """Of a ratio, by random groups."""
    mean = sum(documents) / _GROUPS
    squares = sum((found[group] - share * documents[group]) ** 2 for group in range(_GROUPS))
    return math.sqrt(squares / (_GROUPS - 1) / _GROUPS) / mean
