"""Lists as one text, the way the portal reads them: ``13 (2x), 79``, and ``none`` for an empty one."""

from __future__ import annotations

from typing import Iterable, Mapping

NOTHING = "none"


def listed(entries: Iterable[str]) -> str:
    """Each entry once, in order of the alphabet."""
    return ", ".join(sorted(set(entries))) or NOTHING


def counted(counts: Mapping[int, int]) -> str:
    """Each number with how often it was seen, where that is more than once."""
    words = (f"{number} ({count}x)" if count > 1 else str(number) for number, count in counts.items())
    return ", ".join(words) or NOTHING
