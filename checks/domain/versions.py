"""Versions as numbers between dots, and a table that says which one another version needs."""

from __future__ import annotations

from checks.domain.errors import UnitMismatch
from checks.domain.units import Threshold

#: Between the two halves of a row: ``12:525.60.13`` is "12.x needs 525.60.13 or newer".
_HALVES = ":"
_LONGEST = 9


def version(text: str) -> tuple[int, ...]:
    """*text* as numbers that compare as versions do.

    Raises:
        UnitMismatch: it is no version.
    """
    if not is_version(text):
        raise UnitMismatch(f"{text!r} is no version")
    return tuple(int(part) for part in text.split("."))


def is_version(text: str) -> bool:
    """Whether *text* is numbers between dots, each short enough to be one of a version."""
    return all(part.isascii() and part.isdigit() and len(part) <= _LONGEST for part in text.split("."))


def least_version(table: Threshold, wanted_by: str) -> str | None:
    """The lowest version that a row for *wanted_by*, or for the whole of its release, is content with; none: no row.

    Several rows may fit: a release came with one version, and a rule for all of its major version may ask for less.

    Raises:
        UnitMismatch: *wanted_by* is no version, or the table is none.
    """
    given = version(wanted_by)
    rows = [str(row).partition(_HALVES) for row in (table if isinstance(table, tuple) else (table,))]
    fitting = [least for release, _, least in rows if given[: len(version(release))] == version(release)]
    return min(fitting, key=version, default=None)
