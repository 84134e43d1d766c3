"""A hardware profile: what a node of this kind should have and reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checks.domain.item_tables import read_threshold
from checks.domain.items import Trait
from checks.domain.tables import Table
from checks.domain.units import Scalar, Threshold
from checks.domain.verdicts import Scope


@dataclass(frozen=True, slots=True)
class Profile:
    """What is expected of one kind of node.

    ``part`` is the GPU's product token ("H200"), matched as a whole token; ``details`` are further figures that pages
    show and nothing judges; ``sources`` says where each threshold comes from.
    """

    key: str
    title_en: str
    title_zh: str
    part: str
    gpus: int
    nics: int
    traits: frozenset[Trait]
    thresholds: Mapping[str, Threshold]
    sources: Mapping[str, str]
    details: Mapping[str, Scalar]

    def title(self, language: str) -> str:
        """The profile's name in *language*; English for any but Chinese."""
        return self.title_zh if language.lower().startswith("zh") else self.title_en

    def expected(self, scope: Scope) -> int:
        """How many subjects of *scope* such a node has."""
        return {Scope.GPU: self.gpus, Scope.NIC: self.nics}.get(scope, 1)

    def semantics(self) -> dict[str, object]:
        """What decides verdicts: everything but texts."""
        return {
            "part": self.part,
            "gpus": self.gpus,
            "nics": self.nics,
            "traits": sorted(self.traits),
            "thresholds": dict(self.thresholds),
        }

    def parts(self) -> dict[str, object]:
        """Every part of the profile by name, for telling what changed between two catalogues."""
        texts = {"titles": (self.title_en, self.title_zh), "sources": dict(self.sources), "details": dict(self.details)}
        return self.semantics() | texts


def read_profile(table: Table, key: str) -> Profile:
    """One profile; what is wrong with it is noted in the table's errors."""
    title, thresholds, sources = table.table("title"), table.table("thresholds"), table.table("sources")
    profile = Profile(
        key=key,
        title_en=title.text("en"),
        title_zh=title.text("zh"),
        part=table.take("part", str, ""),
        gpus=_count(table, "gpus"),
        nics=_count(table, "nics"),
        traits=frozenset(table.members("traits", Trait)),
        thresholds={name: held for name in thresholds.held if (held := read_threshold(thresholds, name)) is not None},
        sources={name: sources.text(name) for name in sources.held},
        details=_details(table),
    )
    title.close()
    for name in thresholds.held.keys() - sources.held.keys():
        table.note(f"sources.{name}", "is missing; say where the threshold comes from")
    return profile


def _count(table: Table, key: str) -> int:
    number = table.take(key, int, 0)
    if number < 0:
        table.note(key, f"must be 0 or more, not {number}")
    return number


def _details(table: Table) -> dict[str, Scalar]:
    details: dict[str, Scalar] = {}
    for key in table.held.keys() - table.seen:
        held = table.held[key]
        if isinstance(held, str | int | float):
            details[key] = held
        else:
            table.note(key, "is not a known table")
    return details
