"""Escapes for a terminal, which some tools write into files as well."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def without_escapes(text: str) -> str:
    """*text* without colours and underlines."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text
