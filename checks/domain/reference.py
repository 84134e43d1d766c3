"""Tables about products that hold for every profile: what a driver's event means, which driver a CUDA release needs.

Criteria look things up in them by name, as they look thresholds up in a profile; a cluster may override them likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from checks.domain.errors import UnitMismatch
from checks.domain.tables import CatalogueError, Table
from checks.domain.units import Threshold
from checks.domain.versions import version

_XID, _CUDA = "xid.toml", "cuda.toml"
REFERENCE_FILES = (_XID, _CUDA)

#: Where the two lists of events are, for criteria: those that a job may live with, and those that say nothing bad.
XID_NO_FAULT, XID_SILENT, CUDA_DRIVERS = "xid_no_fault", "xid_silent", "cuda_drivers"


class XidClass(StrEnum):
    """What an event of the driver means for a node. A number that stands in no table counts as a fault."""

    FAULT = "fault"  # of the GPU, its memory, its links or its driver: blocks
    APPLICATION = "application"  # caused by a program on a sound GPU: warns
    STATE = "state"  # announces what another fact tells


@dataclass(frozen=True, slots=True)
class Xid:
    """One number of the driver's events: its class, what it means in both languages, and who says so."""

    number: str
    kind: XidClass
    en: str
    zh: str
    source: str

    def text(self, language: str) -> str:
        """What it means, in *language*; English for any but Chinese."""
        return self.zh if language.lower().startswith("zh") else self.en


@dataclass(frozen=True, slots=True)
class Reference:
    """All tables; ``thresholds`` is what criteria can name of them."""

    xids: Mapping[str, Xid]
    thresholds: Mapping[str, Threshold]

    def semantics(self) -> dict[str, object]:
        """What decides verdicts: no text."""
        return dict(self.thresholds)

    def parts(self) -> dict[str, object]:
        """Every part by name, for telling what changed between two catalogues."""
        return self.semantics() | {"texts": [(one.number, one.en, one.zh, one.source) for one in self.xids.values()]}


def read_reference(files: Mapping[str, Mapping[str, object]], errors: list[CatalogueError]) -> Reference:
    """The tables that *files* hold; a catalogue may have none of them."""
    xids = {key: _xid(table, key) for key, table in _tables(files, _XID, errors)}
    drivers = tuple(f"{key}:{_driver(table)}" for key, table in _tables(files, _CUDA, errors))
    thresholds: dict[str, Threshold] = {}
    if xids:
        thresholds[XID_SILENT] = tuple(one.number for one in xids.values() if one.kind is XidClass.STATE)
        thresholds[XID_NO_FAULT] = tuple(one.number for one in xids.values() if one.kind is not XidClass.FAULT)
    if drivers:
        thresholds[CUDA_DRIVERS] = drivers
    return Reference(xids, thresholds)


def _tables(
    files: Mapping[str, Mapping[str, object]], file: str, errors: list[CatalogueError]
) -> Iterator[tuple[str, Table]]:
    # In an order of its own: a database that stores the files keeps none, and the order is part of the rules.
    for key, held in sorted(files.get(file, {}).items(), key=lambda entry: (len(entry[0]), entry[0])):
        if isinstance(held, Mapping):
            table = Table(held, file, key, errors)
            _version(table, "-", key)
            yield key, table
            table.close()
        else:
            errors.append(CatalogueError(file, key, "-", "is not a table"))


def _xid(table: Table, key: str) -> Xid:
    kind = table.choice("class", XidClass)
    return Xid(number=key, kind=kind, en=table.text("en"), zh=table.text("zh"), source=table.text("source"))


def _driver(table: Table) -> str:
    table.text("source")
    return _version(table, "driver", table.text("driver"))


def _version(table: Table, key: str, text: str) -> str:
    try:
        version(text)
    except UnitMismatch as mismatch:
        table.note(key, mismatch.message)
    return text
