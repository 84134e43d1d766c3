"""What step one of judging leaves behind, as plain JSON: the value of a row, and what the next report must remember.

A *value* holds everything that step two needs, free of any threshold, so that a row can be judged again under other
thresholds without its facts. A *memory* is what the next report of the same subject needs; judging again never touches
it. Times are seconds since the epoch (UTC).
"""

from __future__ import annotations

from typing import TypedDict

from checks.domain.units import Scalar

#: What one criterion looks at, free of thresholds: ``[measured]`` or ``[measured, other fact]`` for comparisons,
#: ``[least, most]`` for what a counter gained, ``[level]`` or ``[]`` for what was held for long enough.
Reading = list[Scalar]

#: Readings by `Criterion.reading_key`.
Readings = dict[str, list[Reading]]


class Blank(TypedDict):
    """Why (a part of) the item could not be measured."""

    reason: str
    detail: str


class LoadEvidence(TypedDict):
    """The last measurement under load that counts: ``proved`` after enough of it, or the sample that failed."""

    at: float
    proved: bool
    worst: Readings


class _Load(TypedDict):
    loaded: bool
    seconds: float


class Load(_Load, total=False):
    """Whether this sample was taken under load, for how long the load has lasted, and the evidence that counts."""

    evidence: LoadEvidence


class Boot(TypedDict):
    """The live value that a setting had under one boot."""

    boot: str
    live: Scalar


class Step(TypedDict):
    """Since when a value has been held at a level or beyond."""

    since: float
    level: Scalar


class Value(TypedDict, total=False):
    """One row's value: the result of step one."""

    item_version: str
    facts: dict[str, Scalar]
    mismatched: dict[str, str]
    gains: dict[str, Reading]
    held: dict[str, Reading]
    boots: list[Boot]
    load: Load
    problem: Blank


class LoadMemory(_Load, total=False):
    """The load that is going on: when it was last seen, and the worst readings since it began."""

    at: float
    span: Readings
    evidence: LoadEvidence


class ItemMemory(TypedDict, total=False):
    """What must be remembered between two reports about one item of one subject."""

    boot: str
    at: float
    counters: dict[str, float]
    windows: dict[str, dict[str, list[float]]]
    runs: dict[str, list[Step]]
    boots: list[Boot]
    load: LoadMemory


#: What is remembered of a subject that was never measured; nobody writes to it.
NOTHING_KNOWN = ItemMemory()
