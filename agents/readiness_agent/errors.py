"""Errors a person reads: one sentence that says what to do, and the exit code that goes with it."""

from __future__ import annotations

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
