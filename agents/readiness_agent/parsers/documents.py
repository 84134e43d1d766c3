"""JSON that other programs wrote, read with care: what is no JSON, or no number, is told and never guessed."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Optional, Union

from readiness_agent.facts import Unreadable as Unreadable

MOST_LEVELS = 64
"""Objects within objects; the tools that we read use a handful."""


_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # both halves of one character
    r"|(?P<unsound>\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2}))|\\."
)


def sound_escapes(text: str) -> str:
    """JSON whose escapes stand for characters that can be written down: NUL, or half of one, becomes U+FFFD."""
    return _ESCAPES.sub(lambda found: "\\ufffd" if found["unsound"] else found[0], text)


def load_document(text: str) -> Any:
    """The value of *text*; ``NaN`` and ``Infinity``, which are no JSON, become None.

    Raises:
        Unreadable: it is cut, damaged, nested without end, or another format.
    """
    try:
        return json.loads(sound_escapes(text.lstrip("\ufeff")), parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"this is no JSON, or it was cut: {str(error)[:200]}") from None


def objects_in(value: Any, levels: int = MOST_LEVELS) -> Iterator[Dict[str, Any]]:
    """Every object within *value*, itself included, the outer ones first."""
    if isinstance(value, dict):
        yield value
        parts: List[Any] = list(value.values())
    else:
        parts = value if isinstance(value, list) else []
    if levels:
        for part in parts:
            yield from objects_in(part, levels - 1)


def text_of(values: Any, *names: str) -> Optional[str]:
    """The first of *names* that holds a text which is not empty."""
    found = (values.get(name) for name in names) if isinstance(values, dict) else ()
    return next((one for one in found if isinstance(one, str) and one), None)


def flag_of(values: Any, name: str) -> Optional[bool]:
    """A truth value; anything else is none."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, bool) else None


def number_of(values: Any, name: str) -> Optional[Union[int, float]]:
    """A number from 0 to 10^18; sentinels beyond, and what is no number, are none."""
    value = values.get(name) if isinstance(values, dict) else None
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e18
    return value if good else None


def count_of(values: Any, name: str) -> Optional[int]:
    """A number that counts."""
    value = number_of(values, name)
    return value if isinstance(value, int) else None
