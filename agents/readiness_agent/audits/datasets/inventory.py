"""Which files make a dataset: its shards by their bytes, their indexes, and what merely lies beside them."""

from __future__ import annotations

import os
import re
import stat
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from readiness_agent.audits.datasets.formats import MEGATRON, MEGATRON_INDEX, NUMPY, UNKNOWN, Kind, identify
from readiness_agent.audits.libraries import LibraryMissing
from readiness_agent.facts import DENIED, ERROR, MISSING, UNREADABLE

_BESIDE = re.compile(
    r"[._].*|readme.*|licen[cs]e.*|dataset_infos?\.json|dataset_dict\.json|state\.json|sha256sums.*|.*\.(md|crc|lock|sha256)",
    re.IGNORECASE,
)
"""Names of files that writers of datasets leave beside the data."""

_SEEDED = re.compile(r".*(shuffle|sample|document|doc)_(index|idx)\.npy")
"""A seeded order over the whole dataset, as Megatron's loader writes it down."""

_LARGEST_BESIDE = 16 << 20


class Shard(NamedTuple):
    """One file of data."""

    path: str
    name: str
    """As the dataset knows it: from the folder that holds all of it."""
    kind: Kind
    size: int
    index_path: str = ""
    """The file that tells where its sequences begin; Megatron's only."""


class Inventory(NamedTuple):
    """All files below the paths that were named."""

    shards: Tuple[Shard, ...]
    others: Tuple[str, ...]
    """Paths of what is no shard, and belongs to the dataset all the same: indexes, descriptions."""
    seeded_order: Tuple[str, ...]
    """Files in which a loader wrote down the order in which it deals samples."""
    problems: Tuple[Tuple[str, str], ...]
    """Kind of a problem, and a sentence."""
    names: Dict[str, str]
    """Path of each file: its name in the dataset."""
    orphans: Tuple[str, ...]
    """Indexes whose file of tokens is not there."""


def take_inventory(paths: Sequence[str], leave_out: Sequence[str] = ()) -> Inventory:
    """Find and recognize the files; those in *leave_out* (a listing inside the folder) are none of the dataset's."""
    problems: List[Tuple[str, str]] = []
    skipped = {os.path.realpath(path) for path in leave_out if path}
    names = {path: name for path, name in _files(paths, problems) if os.path.realpath(path) not in skipped}
    kinds: Dict[str, Kind] = {}
    beside: List[str] = []
    for path in names:
        if _BESIDE.fullmatch(os.path.basename(path)) and os.path.getsize(path) <= _LARGEST_BESIDE:
            beside.append(path)
        else:
            _recognize(path, kinds, problems)
    seeded = tuple(path for path, kind in kinds.items() if kind.format == NUMPY and _SEEDED.fullmatch(path))
    shards = tuple(_shards({path: kind for path, kind in kinds.items() if path not in seeded}, names))
    used = {one.path for one in shards} | {one.index_path for one in shards}
    orphans = tuple(path for path, kind in kinds.items() if kind.format == MEGATRON_INDEX and path not in used)
    others = tuple(path for path in names if path not in {one.path for one in shards})
    return Inventory(shards, others, seeded, tuple(problems), names, orphans)


def _files(paths: Sequence[str], problems: List[Tuple[str, str]]) -> Iterator[Tuple[str, str]]:
    """Each regular file with its name in the dataset, in the order of names."""
    base = os.path.commonpath([os.path.abspath(path if os.path.isdir(path) else _folder(path)) for path in paths])
    for path in paths:
        if not os.path.isdir(path):
            yield from _regular(path, base, problems)
            continue
        for folder, folders, files in os.walk(path, onerror=lambda error: problems.append(_denied(error))):
            folders.sort()
            for name in sorted(files):
                yield from _regular(os.path.join(folder, name), base, problems)


def _folder(path: str) -> str:
    return os.path.dirname(path) or "."


def _regular(path: str, base: str, problems: List[Tuple[str, str]]) -> Iterator[Tuple[str, str]]:
    name = os.path.relpath(os.path.abspath(path), base)
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        problems.append(_denied(error))
        return
    if stat.S_ISREG(mode):
        yield path, name
    else:
        problems.append((ERROR, f"{name} is no regular file: a dataset has none of these"))


def _recognize(path: str, kinds: Dict[str, Kind], problems: List[Tuple[str, str]]) -> None:
    try:
        kinds[path] = identify(path)
    except LibraryMissing as error:
        problems.append((MISSING, f"{os.path.basename(path)}: {error}"))
    except OSError as error:
        problems.append(_denied(error))


def _denied(error: OSError) -> Tuple[str, str]:
    kind = DENIED if isinstance(error, PermissionError) else UNREADABLE
    return kind, f"{os.path.basename(str(error.filename))} cannot be read: {error.strerror}"


def _shards(kinds: Dict[str, Kind], names: Dict[str, str]) -> Iterator[Shard]:
    """A file of token ids has no bytes of its own to be known by: its index makes it one."""
    for path, kind in kinds.items():
        if kind.format == MEGATRON_INDEX:
            continue
        index = f"{os.path.splitext(path)[0]}.idx"
        if kinds.get(index, Kind(UNKNOWN)).format == MEGATRON_INDEX and index != path:
            kind = Kind(MEGATRON)
        else:
            index = ""
        yield Shard(path, names[path], kind, os.path.getsize(path), index)
