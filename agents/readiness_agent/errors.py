"""Errors a person reads: one sentence that says what to do, and the exit code that goes with it."""

from __future__ import annotations

import os
import sys
from typing import TextIO

EX_USAGE = 64
"""The command line is wrong."""

EX_CONFIG = 78
"""The configuration is missing or wrong, or this node is not enrolled."""


class AgentError(Exception):
    """Ends a command with *message* on stderr."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def usage_error(message: str) -> AgentError:
    """The caller asked in a wrong way."""
    return AgentError(message, EX_USAGE)


def config_error(message: str) -> AgentError:
    """The node is not set up rightly."""
    return AgentError(message, EX_CONFIG)


def log(message: str) -> None:
    """One line on stderr for the journal or a person; never a token, and no control character of anyone's."""
    printable = "".join(character if character.isprintable() else " " for character in message)
    try:
        print(f"readiness-agent: {printable}", file=sys.stderr)
    except OSError:  # nobody listens any more; what is being done matters more than what is said about it
        let_go(sys.stderr)


def let_go(stream: TextIO) -> None:
    """Send what *stream* still holds to nowhere: the interpreter would try again, fail, and end with 120."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
