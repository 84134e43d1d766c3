"""How readers of a fingerprint ask: what is not there is no setting, what was not looked for is no fingerprint."""

from __future__ import annotations

from collections import Counter
from typing import Iterable, List, Optional

from readiness_agent.facts import DENIED, MISSING, UNREADABLE, CouldNotMeasure
from readiness_agent.source import Source


def text_of(source: Source, path: str) -> str:
    """The text of a file; empty where there is none. Raises where that cannot be known."""
    try:
        return source.read(path)
    except CouldNotMeasure as error:
        if error.kind != MISSING:
            raise
        return ""


def value_of(source: Source, path: str) -> Optional[str]:
    """The text of one small file, None where it is there and cannot be read; raises where it was not captured."""
    try:
        return source.read(path).strip()
    except CouldNotMeasure as error:
        if error.kind not in (MISSING, DENIED, UNREADABLE):
            raise
        return None


def names_in(source: Source, directory: str) -> List[str]:
    """What a directory holds; nothing where there is none."""
    try:
        return source.listdir(directory)
    except CouldNotMeasure as error:
        if error.kind != MISSING:
            raise
        return []


def together(values: Iterable[str]) -> str:
    """Values of several parts as one text: each once, with how many have it where there are several."""
    counts = Counter(values)
    return ", ".join(f"{value} ({count}x)" if count > 1 else value for value, count in sorted(counts.items()))
