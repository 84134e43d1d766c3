"""The checklist as a whole: loaded strictly from TOML, stored as one JSON document, compared item by item."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.domain.canonical import Tag, digest
from checks.domain.drift.noise import NOISE_FILE, Noise, read_noise
from checks.domain.hardware import Profile, read_profile
from checks.domain.item_tables import read_item
from checks.domain.items import Item
from checks.domain.reference import REFERENCE_FILES, Reference, read_reference
from checks.domain.tables import CatalogueError, CatalogueInvalid, Table
from checks.domain.verdicts import Layer

__all__ = ["Catalogue", "CatalogueError", "CatalogueInvalid", "Change", "FactLabel", "load_catalogue"]

_HEAD = "catalogue.toml"
_FACTS = "facts.toml"
_PROFILES = "profiles"

#: A catalogue's files by their name under its folder, parsed from TOML (or read back from the database).
Files = Mapping[str, Mapping[str, object]]

Entries = Mapping[str, Item] | Mapping[str, Profile] | Mapping[str, Reference | Noise]


@dataclass(frozen=True, slots=True)
class Change:
    """One item or profile that differs between two catalogues; ``parts`` names what changed in it."""

    kind: str  # added | removed | changed
    what: str  # item | profile | table
    key: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactLabel:
    """What people call a fact; *alone*: its value needs no name, since the item's title says what it is."""

    en: str
    zh: str
    alone: bool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every item and hardware profile of one version; items in the order in which a reader meets them.

    ``labels`` name facts for people, by fact, or by ``item.fact`` where a fact means something else in one item;
    ``reference`` are tables about products, which hold for every profile; ``noise`` names settings that differ by
    nature.
    ``files`` is what the catalogue was read from; it is kept so that the database stores exactly what was loaded.
    """

    version: str
    items: Mapping[str, Item]
    profiles: Mapping[str, Profile]
    labels: Mapping[str, FactLabel]
    reference: Reference
    noise: Noise
    files: Files

    @property
    def digest(self) -> str:
        """SHA-256 of the whole content, texts included."""
        return digest(Tag.CATALOGUE, self.files)

    def label(self, item: str, fact: str, language: str) -> str:
        """What people call *fact* of *item*; its own name where the catalogue has no word for it."""
        label = self._label(item, fact)
        if label is None:
            return fact.replace("_", " ")
        return label.zh if language.startswith("zh") else label.en

    def says_itself(self, item: str, fact: str) -> bool:
        """Whether a value of *fact* needs no label beside the item's title."""
        label = self._label(item, fact)
        return label is not None and label.alone

    def _label(self, item: str, fact: str) -> FactLabel | None:
        return self.labels.get(f"{item}.{fact}") or self.labels.get(fact)

    def as_json(self) -> dict[str, object]:
        """The document that the database stores; JSONB keeps no order of keys, so the order of items stands beside."""
        return {"files": dict(self.files), "order": list(self.items)}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Catalogue:
        """The catalogue that `as_json` stored.

        Raises:
            CatalogueInvalid: this version of the program cannot read it; load the catalogue that came with it.
        """
        files = document.get("files")
        if not isinstance(files, Mapping):
            raise CatalogueInvalid((CatalogueError(_HEAD, "-", "files", "are missing in the stored document"),))
        order = document.get("order", [])
        return _read(_in_order(files, order if isinstance(order, list) else []), [])

    def diff(self, other: Catalogue) -> tuple[Change, ...]:
        """What one finds in *other* that was different here, sorted by kind and key."""
        items = _compare("item", self.items, other.items)
        profiles = _compare("profile", self.profiles, other.profiles)
        before: Mapping[str, Reference | Noise] = {"reference": self.reference, "noise": self.noise}
        after: Mapping[str, Reference | Noise] = {"reference": other.reference, "noise": other.noise}
        tables = _compare("table", before, after)
        return (*items, *profiles, *tables)


def load_catalogue(path: Path) -> Catalogue:
    """Read ``catalogue.toml``, one file a layer, tables of reference, the noise and ``profiles/*.toml`` under *path*.

    Raises:
        CatalogueInvalid: every mistake that was found, each with its file, item and key.
    """
    errors: list[CatalogueError] = []
    found = sorted([*path.glob("*.toml"), *path.glob(f"{_PROFILES}/*.toml")])
    files = {file.relative_to(path).as_posix(): _parse(file, path, errors) for file in found}
    return _read(files, errors)


def _parse(file: Path, root: Path, errors: list[CatalogueError]) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as problem:
        errors.append(CatalogueError(file.relative_to(root).as_posix(), "-", "-", f"cannot be read: {problem}"))
        return {}


def _read(files: Files, errors: list[CatalogueError]) -> Catalogue:
    head = Table(files.get(_HEAD, {}), _HEAD, "-", errors)
    catalogue = Catalogue(
        version=head.text("version"),
        items=dict(_items(files, errors)),
        profiles=dict(_profiles(files, errors)),
        labels=dict(_labels(files, errors)),
        reference=read_reference(files, errors),
        noise=read_noise(files, errors),
        files=files,
    )
    head.close()
    if errors:
        raise CatalogueInvalid(tuple(sorted(errors, key=lambda error: (error.file, error.item, error.args))))
    return catalogue


def _in_order(files: Files, order: Sequence[object]) -> Files:
    """The files with their tables in the order of *order*; what it does not name stays behind."""
    place = {key: number for number, key in enumerate(order)}
    return {
        name: dict(sorted(held.items(), key=lambda entry: place.get(entry[0], len(place))))
        for name, held in files.items()
    }


def _labels(files: Files, errors: list[CatalogueError]) -> Iterator[tuple[str, FactLabel]]:
    for name, held in files.get(_FACTS, {}).items():
        if not isinstance(held, Mapping):
            errors.append(CatalogueError(_FACTS, name, "-", "is not a table"))
            continue
        table = Table(held, _FACTS, name, errors)
        yield name, FactLabel(en=table.text("en"), zh=table.text("zh"), alone=table.take("alone", bool, False))
        table.close()


def _items(files: Files, errors: list[CatalogueError]) -> Iterator[tuple[str, Item]]:
    homes: dict[str, str] = {}
    for layer in Layer:
        file = f"{layer}.toml"
        if file not in files:
            errors.append(CatalogueError(file, "-", "-", "is missing; every layer has a file"))
        for key, held in files.get(file, {}).items():
            if not isinstance(held, Mapping):
                errors.append(CatalogueError(file, key, "-", "is not a table"))
                continue
            if key in homes:
                errors.append(CatalogueError(file, key, "-", f"is already an item of {homes[key]}"))
            homes[key] = file
            yield key, read_item(Table(held, file, key, errors), key, layer)


def _profiles(files: Files, errors: list[CatalogueError]) -> Iterator[tuple[str, Profile]]:
    layers = {f"{layer}.toml" for layer in Layer}
    for file, held in files.items():
        if file.startswith(f"{_PROFILES}/"):
            key = Path(file).stem
            yield key, read_profile(Table(held, file, key, errors), key)
        elif file not in (_HEAD, _FACTS, NOISE_FILE, *REFERENCE_FILES) and file not in layers:
            errors.append(CatalogueError(file, "-", "-", "is not the file of a layer"))


def _compare(what: str, old: Entries, new: Entries) -> Iterator[Change]:
    yield from (Change("added", what, key) for key in sorted(new.keys() - old.keys()))
    yield from (Change("removed", what, key) for key in sorted(old.keys() - new.keys()))
    for key in sorted(new.keys() & old.keys()):
        before, after = old[key].parts(), new[key].parts()
        if changed := tuple(sorted(name for name in after if before[name] != after[name])):
            yield Change("changed", what, key, changed)
