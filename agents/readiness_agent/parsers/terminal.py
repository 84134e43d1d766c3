"""What happens to outputs on their way into a file: escapes for a terminal are kept, and ends are lost."""

from __future__ import annotations

import re
from typing import List

_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def finished_lines(text: str) -> List[str]:
    """Lines that end: of the one that breaks off nobody can tell how it went on."""
    lines = text.splitlines()
    return lines if text.endswith("\n") or not lines else lines[:-1]


def without_escapes(text: str) -> str:
    """*text* without colours and underlines."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text
