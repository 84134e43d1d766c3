"""Which settings differ by nature, as data: ``noise.toml`` of the catalogue, one table a pattern, each with its reason.

Applied when fingerprints are read, never when they are stored: a mended filter mends what was stored before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Final

from checks.domain.canonical import Tag, digest
from checks.domain.tables import CatalogueError, Table

NOISE_FILE: Final = "noise.toml"
_DIGEST_LENGTH: Final = 16
_MOST_KNOWN: Final = 50_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern of names (``*`` stands for anything), and why what it matches says nothing, in both languages."""

    pattern: str
    en: str
    zh: str

    def reason(self, language: str) -> str:
        """Why, in *language*; English for any but Chinese."""
        return self.zh if language.lower().startswith("zh") else self.en


@dataclass(frozen=True, slots=True)
class Noise:
    """The whole filter; ``digest`` names it."""

    rules: tuple[Rule, ...] = ()
    digest: str = field(init=False, compare=False)
    _match: re.Pattern[str] = field(init=False, repr=False, compare=False)
    # Answers by name: nodes have the same settings, and are asked about again and again.
    _known: dict[str, bool] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        patterns = sorted(rule.pattern for rule in self.rules)
        every = "|".join(translate(pattern) for pattern in patterns) or r"(?!)"
        object.__setattr__(self, "digest", digest(Tag.NOISE, patterns)[:_DIGEST_LENGTH])
        object.__setattr__(self, "_match", re.compile(every))

    def covers(self, name: str) -> bool:
        """Whether the setting *name* differs by nature."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[name] = self._match.match(name) is not None
        return known

    def parts(self) -> dict[str, object]:
        """Every part by name, for telling what changed between two catalogues."""
        return {"noise": [(rule.pattern, rule.en, rule.zh) for rule in self.rules]}


def read_noise(files: Mapping[str, Mapping[str, object]], errors: list[CatalogueError]) -> Noise:
    """The filter that *files* hold; a catalogue without one filters nothing."""
    return Noise(tuple(_rules(files.get(NOISE_FILE, {}), errors)))


def _rules(held: Mapping[str, object], errors: list[CatalogueError]) -> Iterator[Rule]:
    for pattern, said in sorted(held.items()):
        if not isinstance(said, Mapping):
            errors.append(CatalogueError(NOISE_FILE, pattern, "-", "is not a table"))
            continue
        table = Table(said, NOISE_FILE, pattern, errors)
        if ":" not in pattern:
            table.note("-", "is no pattern of a setting; write KIND:NAME, for example sysctl:kernel.random.*")
        yield Rule(pattern, en=table.text("en"), zh=table.text("zh"))
        table.close()
