"""Read every shard of a dataset once: digest, structure, records. What goes wrong is told, and never passed over."""

from __future__ import annotations

import hashlib
import os
from typing import Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.audits.datasets.inventory import Inventory, Shard
from readiness_agent.audits.datasets.listing import Measured
from readiness_agent.audits.datasets.looking import Looks, Place, look
from readiness_agent.audits.datasets.progress import Progress
from readiness_agent.audits.datasets.readers import read_shard, structure_faults, token_width
from readiness_agent.audits.datasets.records import Damaged, Unclear, Wanted
from readiness_agent.audits.datasets.resuming import Bookmark
from readiness_agent.audits.datasets.sharding import shard_numbers
from readiness_agent.audits.datasets.tally import Tally, tally_of
from readiness_agent.audits.libraries import LibraryMissing
from readiness_agent.facts import DENIED, ERROR, MISSING, UNREADABLE

_BLOCK = 4 << 20
DAMAGED = "damaged"
"""Trouble that is a fault of the dataset; all other kinds only say that it could not be told."""

Stamp = List[int]


class Trouble(NamedTuple):
    """Why a file was not read to its end."""

    kind: str
    said: str


CHANGED = Trouble(ERROR, "it changed while it was read: audit it when nobody writes to it")


class ShardRead(NamedTuple):
    """What came of one shard."""

    shard: Shard
    tally: Tally
    trouble: Optional[Trouble]


class Reading(NamedTuple):
    """What came of all."""

    shards: Tuple[ShardRead, ...]
    measured: Dict[str, Measured]
    """By name in the dataset."""
    lost: Tuple[Trouble, ...]
    """Files that could not even be read as bytes."""


class Reader:
    """Reads one dataset, and puts down where it is."""

    def __init__(self, wanted: Wanted, looks: Looks, data_parallel: int, bookmark: Bookmark) -> None:
        self._wanted = wanted
        self._looks = looks
        self._data_parallel = data_parallel
        self._bookmark = bookmark
        self._before = 0

    def read(self, inventory: Inventory) -> Reading:
        """Everything; resumes where the bookmark says.

        Each shard is read twice, first for its digest: a digest cannot be put down half way.
        """
        sizes = sum(one.size for one in inventory.shards)
        self._progress = Progress(sizes)
        measured: Dict[str, Measured] = {}
        lost: List[Trouble] = []
        numbers = shard_numbers([one.name for one in inventory.shards])
        try:
            for path in inventory.others:
                _measure_other(path, inventory.names[path], measured, lost)
            shards = tuple(self._shard(one, numbers[one.name], measured) for one in inventory.shards)
        finally:
            self._progress.end()
        return Reading(shards, measured, tuple(lost))

    def _shard(self, shard: Shard, number: int, measured: Dict[str, Measured]) -> ShardRead:
        saved = self._bookmark.shards.get(shard.path, {})
        try:
            stamp = stamp_of(shard)
            tally, trouble = self._from(saved, stamp, shard, number)
            if stamp_of(shard) != stamp:
                trouble = CHANGED
        except OSError as error:
            return self._done(shard, Tally(), _os_trouble(error), [])
        entry = self._bookmark.shards.get(shard.path, {})
        if entry.get("sha256"):
            measured[shard.name] = Measured(entry["sha256"], stamp[0])
        return self._done(shard, tally, trouble, stamp)

    def _done(self, shard: Shard, tally: Tally, trouble: Optional[Trouble], stamp: Stamp) -> ShardRead:
        self._before += shard.size
        entry = self._bookmark.shards.setdefault(shard.path, {"stamp": stamp})
        entry.update(tally=tally.as_json(), trouble=trouble and list(trouble), done=True)
        self._put_down_if_due()
        return ShardRead(shard, tally, trouble)

    def _from(
        self, saved: Dict[str, object], stamp: Stamp, shard: Shard, number: int
    ) -> Tuple[Tally, Optional[Trouble]]:
        """The tally of *shard*, from where an earlier audit left it."""
        if saved.get("done"):
            self._progress.skip(shard.size)
            trouble = saved.get("trouble")
            return tally_of(saved["tally"]), Trouble(*trouble) if isinstance(trouble, list) else None  # type: ignore[arg-type]
        entry = {"stamp": stamp, **saved}
        self._bookmark.shards[shard.path] = entry
        if "sha256" not in entry:
            entry["sha256"] = self._digest(shard)
            self._put_down_if_due()
        tally = tally_of(entry.get("tally", {}))  # type: ignore[arg-type]
        return tally, self._records(shard, number, tally, entry)

    def _digest(self, shard: Shard) -> str:
        digest, done = hashlib.sha256(), 0
        with open(shard.path, "rb") as file:
            for block in iter(lambda: file.read(_BLOCK), b""):
                digest.update(block)
                done += len(block)
                self._progress.at(self._before, 0)  # its records take most of the time
                if done > shard.size:
                    break  # it grows while it is read; that is told at the end
        return digest.hexdigest()

    def _records(self, shard: Shard, number: int, tally: Tally, entry: Dict[str, object]) -> Optional[Trouble]:
        try:
            if "at" not in entry and not self._is_sound(shard, tally):
                return Trouble(DAMAGED, "its structure contradicts itself, so its records were not read")
            place = Place(number, self._data_parallel)
            for batch in read_shard(shard, entry.get("at"), self._wanted):
                look(batch, tally, self._looks, place)
                self._progress.at(self._before, batch.done_bytes)
                if stamp_of(shard) != entry["stamp"]:
                    return CHANGED  # a file that grows has no end
                if batch.end is not None and self._bookmark.is_due():
                    entry.update(tally=tally.as_json(), at=batch.end)
                    self._bookmark.put_down()
        except Damaged as error:
            tally.faults += 1
            tally.note("data-integrity", "end", str(error))
            return Trouble(DAMAGED, str(error))
        except Unclear as error:
            return Trouble(ERROR, str(error))
        except LibraryMissing as error:
            return Trouble(MISSING, str(error))
        return None

    def _is_sound(self, shard: Shard, tally: Tally) -> bool:
        for place, said in structure_faults(shard):
            tally.faults += 1
            tally.note("data-integrity", place, said)
        tally.bits, tally.signed = token_width(shard, self._wanted)
        return not tally.faults

    def _put_down_if_due(self) -> None:
        if self._bookmark.is_due():
            self._bookmark.put_down()


def stamp_of(shard: Shard) -> Stamp:
    """What tells that a shard, or its index, was written to."""
    stamp: Stamp = []
    for path in (shard.path, shard.index_path):
        if path:
            found = os.stat(path)
            stamp += [found.st_size, found.st_mtime_ns, found.st_ino]
    return stamp


def _measure_other(path: str, name: str, measured: Dict[str, Measured], lost: List[Trouble]) -> None:
    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(_BLOCK), b""):
                digest.update(block)
                size += len(block)
    except OSError as error:
        lost.append(_os_trouble(error, name))
        return
    measured[name] = Measured(digest.hexdigest(), size)


def _os_trouble(error: OSError, name: str = "") -> Trouble:
    kind = DENIED if isinstance(error, PermissionError) else UNREADABLE
    return Trouble(kind, f"{name + ': ' if name else ''}it cannot be read ({error.strerror or error})")
