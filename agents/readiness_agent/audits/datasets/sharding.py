"""Which number a shard has: the one in its name when the names count, else its place among the names."""

from __future__ import annotations

import re
from typing import Dict, List, Optional

_OF = re.compile(r"([0-9]+)-of-[0-9]+")
_LAST = re.compile(r"([0-9]+)(?=[^0-9]*$)")
_ENDING = re.compile(r"(\.[A-Za-z][A-Za-z0-9]*)+$")


def shard_numbers(names: List[str]) -> Dict[str, int]:
    """Numbers from 0. Names count when they hold consecutive numbers from 0 or 1: ``train-00003-of-00064.parquet``."""
    told = {name: _told(name) for name in names}
    numbers = sorted(number for number in told.values() if number is not None)
    first = numbers[0] if numbers else 0
    if first <= 1 and numbers == list(range(first, first + len(names))):
        return {name: number - first for name, number in told.items() if number is not None}
    return {name: place for place, name in enumerate(sorted(names))}


def _told(name: str) -> Optional[int]:
    stem = _ENDING.sub("", name.rpartition("/")[2])
    found = _OF.search(stem) or _LAST.search(stem)
    return int(found[1]) if found and len(found[1]) < 12 else None
