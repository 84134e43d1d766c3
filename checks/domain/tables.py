"""Read the tables of the catalogue strictly, and go on after an error, so that one run names all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from checks.domain.errors import CountersignError

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

_SPAN = re.compile(r"(\d+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class CatalogueError(CountersignError):
    """One mistake in the catalogue: in which file, item and key, and what is wrong."""

    code = "catalogue_error"

    def __init__(self, file: str, item: str, key: str, message: str) -> None:
        super().__init__(f"{file}: [{item}] {key}: {message}")
        self.file, self.item, self.key, self.problem = file, item, key, message


class CatalogueInvalid(CountersignError):
    """A catalogue that cannot be used; ``errors`` holds every mistake that was found."""

    code = "catalogue_invalid"

    def __init__(self, errors: tuple[CatalogueError, ...]) -> None:
        super().__init__("\n".join(error.message for error in errors))
        self.errors = errors


@dataclass(slots=True)
class Table:
    """One TOML table being read.

    Every getter returns a usable value: a missing or wrong one is noted in ``errors`` and its fall-back returned, so
    the caller builds its object as usual and the loader refuses the whole afterwards.
    """

    held: Mapping[str, object]
    file: str
    item: str
    errors: list[CatalogueError]
    path: str = ""
    seen: set[str] = field(default_factory=set)

    def note(self, key: str, message: str) -> None:
        """Record one mistake at *key* of this table."""
        self.errors.append(CatalogueError(self.file, self.item, self.path + key, message))

    def take(self, key: str, kind: type[T], fallback: T) -> T:
        """The value at *key*; *fallback* where it is absent or of another kind (noted)."""
        self.seen.add(key)
        found = self.held.get(key, fallback)
        if type(found) is kind:
            return found
        self.note(key, f"must be a {_NAMES.get(kind, kind.__name__)}, not {found!r}")
        return fallback

    def text(self, key: str) -> str:
        """A text that must be there and must say something."""
        found = self.take(key, str, "")
        if key not in self.held or not found.strip():
            self.note(key, "is missing; write a text")
        return found

    def choice(self, key: str, choices: type[E], fallback: E | None = None) -> E:
        """One member of an enumeration; without a *fallback* it must be there."""
        if key not in self.held and fallback is not None:
            return fallback
        return self.member(key, self.take(key, str, ""), choices)

    def member(self, key: str, text: str, choices: type[E]) -> E:
        """*text* as a member of *choices*; the first of them where it is none (noted)."""
        try:
            return choices(text)
        except ValueError:
            self.note(key, f"{text!r} is none of {', '.join(choices)}")
            return next(iter(choices))

    def choice_or_none(self, key: str, choices: type[E]) -> E | None:
        """One member of an enumeration that may be left out."""
        return self.choice(key, choices) if key in self.held else None

    def name_or_none(self, key: str) -> str | None:
        """A name that may be left out, but must not be empty."""
        return self.text(key) if key in self.held else None

    def members(self, key: str, choices: type[E]) -> tuple[E, ...]:
        """A list of members of an enumeration."""
        return tuple(self.member(key, str(text), choices) for text in self.take(key, list, []))

    def span(self, key: str) -> timedelta | None:
        """A duration such as ``"7d"``, ``"36h"``, ``"5m"`` or ``"30s"``."""
        if key not in self.held:
            return None
        text = self.take(key, str, "")
        if match := _SPAN.fullmatch(text):
            return timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
        self.note(key, f'{text!r} is no duration; write for example "7d", "36h", "5m" or "30s"')
        return None

    def table(self, key: str) -> Table:
        """The table at *key* (empty where it is missing, which its own required keys will tell)."""
        return self._inner(self.take(key, dict, {}), key)

    def tables(self, key: str) -> list[Table]:
        """The array of tables at *key*."""
        inner = []
        for place, held in enumerate(self.take(key, list, [])):
            if isinstance(held, dict):
                inner.append(self._inner(held, f"{key}[{place}]"))
            else:
                self.note(key, f"must hold tables, not {held!r}")
        return inner

    def each(self, key: str, read: Callable[[Table], T]) -> tuple[T, ...]:
        """Every table of the array at *key*, read by *read*, which also has its unknown keys noted."""
        return tuple(_closed(read, table) for table in self.tables(key))

    def close(self) -> None:
        """Note the keys that nobody asked for: a misspelt key must not be silently without effect."""
        for key in self.held.keys() - self.seen:
            self.note(key, "is not a known key")

    def _inner(self, held: Mapping[str, object], key: str) -> Table:
        return Table(held, self.file, self.item, self.errors, f"{self.path}{key}.")


_NAMES: Mapping[type, str] = {str: "text", dict: "table", list: "list", int: "whole number", bool: "true or false"}


def _closed(read: Callable[[Table], T], table: Table) -> T:
    result = read(table)
    table.close()
    return result
