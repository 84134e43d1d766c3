"""Words that an incident is found by, the same for what is stored and for what is asked.

Latin words and numbers are cut at everything else, so that ``gpu-nvlink-links`` and ``INC-0031`` are found by any part.
Chinese has no spaces: a run of n characters is stored as its n - 1 pairs (and a last single one), so that any substring
of two and more is found by its pairs, and a single character by the beginning of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LATIN: Final = re.compile(r"[a-z0-9]+")
# Ideographs with their extension A, and the signs of Japanese.
_HAN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_LONGEST_WORD: Final = 64
_MOST_ASKED: Final = 16


def terms_of(*texts: str) -> str:
    """Every word of *texts*, once, apart by spaces."""
    found = {word for text in texts for word in (*_latin(text), *_pairs(text, with_last=True))}
    return " ".join(sorted(found))


def query_of(asked: str) -> str:
    """What PostgreSQL is asked for (``to_tsquery``): every word, the last Latin one as a beginning.

    Empty where *asked* holds nothing that could be found. Words hold letters and digits alone, so nothing in it is an
    operator.
    """
    latin = [f"'{word}'" for word in _latin(asked)]
    if latin:
        latin[-1] += ":*"
    han = [f"'{pair}'" if len(pair) == 2 else f"'{pair}':*" for pair in _pairs(asked, with_last=False)]
    return " & ".join([*latin, *han][:_MOST_ASKED])


def _latin(text: str) -> list[str]:
    return [word[:_LONGEST_WORD] for word in _LATIN.findall(text.lower())]


def _pairs(text: str, *, with_last: bool) -> Iterator[str]:
    for run in _HAN.findall(text):
        for place in range(len(run) - 1):
            yield run[place : place + 2]
        if with_last or len(run) == 1:
            yield run[-1]
