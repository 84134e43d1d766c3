"""The team's own patterns of what must not be trained on. They and what they hit are never shown, only counted."""

from __future__ import annotations

import hashlib
import re
from typing import List, NamedTuple, Pattern

from readiness_agent.errors import usage_error


class Patterns(NamedTuple):
    """One file of regular expressions."""

    expressions: List[Pattern[str]]
    digest: str
    """``sha256:…`` of the file."""

    def hits(self, text: str) -> int:
        """How often any of them is found in *text*."""
        return sum(sum(1 for _ in expression.finditer(text)) for expression in self.expressions)


def read_patterns(path: str) -> Patterns:
    """Regular expressions of Python, one a line; blank lines and lines that begin with # are none.

    Raises:
        AgentError: the file cannot be read, or a line is no expression; says which line, and not what stands there.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
        lines = content.decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise usage_error(f"{path} cannot be read as patterns ({type(error).__name__}): name a UTF-8 file") from None
    expressions = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            expressions.append(_compiled(path, number, line))
    return Patterns(expressions, f"sha256:{hashlib.sha256(content).hexdigest()}")


def _compiled(path: str, number: int, line: str) -> Pattern[str]:
    try:
        expression = re.compile(line)
    except (re.error, OverflowError, RecursionError):
        raise usage_error(f"{path}:{number} is no regular expression of Python: correct that line") from None
    if expression.match(""):
        raise usage_error(f"{path}:{number} matches the empty text, and so everything: correct that line")
    return expression
