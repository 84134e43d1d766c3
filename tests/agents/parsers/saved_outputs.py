"""One saved output of a tool, read: its facts by name, and what could not be read."""

from __future__ import annotations

from readiness_agent.parsers.kinds import SAVED
from readiness_agent.parsers.saved import Saved
from readiness_agent.parsers.saved import Value as Value
from tests.agents.parsers.inputs import shared


def read(kind: str, text: str) -> Saved:
    """What the reader of *kind* makes of *text*."""
    return SAVED[kind].read(text)


def case(kind: str, file: str) -> Saved:
    """The same of a file of ``../shared/cases``."""
    return read(kind, shared(f"cases/{file}"))


def facts(saved: Saved, subject: str = "") -> dict[str, Value]:
    """Values of one subject by name."""
    return {one.name: one.value for one in saved.facts if one.subject == subject}


def complaints(saved: Saved) -> str:
    """All problems, one a line."""
    return "\n".join(saved.problems)
