"""JSON as people write it: with comments and trailing commas, which are read and reported."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

_PIECE = re.compile(
    r'"(?:[^"\\\n]|\\.)*"'  # a text, in which nothing is a comment
    r"|//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"
    r"|,(?=(?:\s|//[^\n]*\n|\#[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*[}\]])",
    re.DOTALL,
)
_BIG = 1_000_000


class Held(NamedTuple):
    """The object in a text; None where there is none."""

    value: Optional[Dict[str, Any]]
    remarks: Tuple[Tuple[int, str], ...]
    """Line and sentence, of each oddity that strict JSON refuses."""
    error: str = ""


def read_object(text: str) -> Held:
    """The JSON object in *text*. Never raises."""
    remarks: List[Tuple[int, str]] = []
    plain = text.lstrip("\ufeff")
    plain = _PIECE.sub(lambda found: _kept(found, plain, remarks), plain) if len(plain) <= _BIG else plain
    doubled: List[str] = []
    try:
        value = json.loads(plain, object_pairs_hook=lambda pairs: _once(pairs, doubled))
    except (ValueError, RecursionError) as error:
        return Held(None, tuple(remarks), str(error))
    remarks += [(1, f"the key {key!r} stands twice in one object, and only the last counts") for key in doubled]
    if not isinstance(value, dict):
        return Held(None, tuple(remarks), "it holds no JSON object")
    return Held(value, tuple(remarks))


def _kept(found: re.Match[str], text: str, remarks: List[Tuple[int, str]]) -> str:
    """What strict JSON takes of a piece; line breaks stay, so that an error names the right line."""
    piece = found[0]
    if piece.startswith('"'):
        return piece
    said = "a trailing comma" if piece == "," else "a comment"
    line = text.count("\n", 0, found.start()) + 1
    remarks.append((line, f"{said}, which is no JSON: a loader other than DeepSpeed's own refuses this file"))
    return "\n" * piece.count("\n")


def _once(pairs: List[Tuple[str, Any]], doubled: List[str]) -> Dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        names = [name for name, _ in pairs]
        doubled += sorted({name for name in names if names.count(name) > 1})
    return held
