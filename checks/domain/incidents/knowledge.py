"""Incidents that others told in public, read from TOML, strictly: one run names every mistake."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from checks.domain.errors import CountersignError
from checks.domain.incidents.kinds import Component
from checks.domain.tables import CatalogueError, Table


class Origin(StrEnum):
    """Where an incident was told."""

    ARTICLE = "article"
    PUBLIC = "public"


class KnowledgeInvalid(CountersignError):
    """Files of known incidents that cannot be used; the message names every mistake, one a line."""

    code = "knowledge_invalid"

    def __init__(self, mistakes: Iterable[str]) -> None:
        super().__init__("\n".join(mistakes))


@dataclass(frozen=True, slots=True)
class Told:
    """What happened, in one language."""

    title: str
    told: str


@dataclass(frozen=True, slots=True)
class Known:
    """One incident; *happened* is as exact as its source, *items* are those that would see it."""

    key: str
    origin: Origin
    component: Component
    items: tuple[str, ...]
    source: str
    en: Told
    zh: Told
    happened: str = ""
    run: str = ""


def read_known(paths: Iterable[Path], *, items: Collection[str]) -> tuple[Known, ...]:
    """The incidents in the files; *items* are the keys of the checklist.

    Raises:
        KnowledgeInvalid
    """
    errors: list[CatalogueError] = []
    found: list[Known] = []
    for path in paths:
        try:
            held = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise KnowledgeInvalid([f"{path.name} cannot be read: {error}."]) from error
        table = Table(held, path.name, "incidents", errors)
        origin = table.choice("origin", Origin)
        found += table.each("incident", lambda one, origin=origin: _known(one, origin, items))  # type: ignore[misc]
        table.close()
    mistakes = [error.message for error in errors] + _twice(found)
    if mistakes:
        raise KnowledgeInvalid(mistakes)
    return tuple(found)


def _known(table: Table, origin: Origin, items: Collection[str]) -> Known:
    named = tuple(str(key) for key in table.take("items", list, []))
    for key in named:
        if key not in items:
            table.note("items", f"the checklist has no item {key!r}")
    return Known(
        key=table.text("key"), origin=origin, component=table.choice("component", Component), items=named,
        source=table.text("source"), en=_told(table.table("en")), zh=_told(table.table("zh")),
        happened=table.take("happened", str, ""), run=table.take("run", str, ""),
    )  # fmt: skip


def _told(table: Table) -> Told:
    told = Told(table.text("title"), table.text("told"))
    table.close()
    return told


def _twice(found: Iterable[Known]) -> list[str]:
    keys = [one.key for one in found]
    return [
        f"{key} is told twice; give each a key of its own." for key in sorted({k for k in keys if keys.count(k) > 1})
    ]
