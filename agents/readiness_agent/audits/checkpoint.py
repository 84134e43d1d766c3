"""``audit checkpoint``: how large the checkpoints of a run really are, by walking their folder."""

from __future__ import annotations

import argparse
import os
import re
import stat
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from readiness_agent.audits import AuditResult, Notes
from readiness_agent.facts import DENIED, MISSING, UNREADABLE

ITEM = "checkpoint-space"

SHOWN = 50
"""Checkpoints that are told one by one."""

_GIB = 1024.0**3
_STEP = re.compile(r"\d+")


class Size(NamedTuple):
    """What one checkpoint takes. *apparent* bytes are what is read back, *disk* bytes what the file system gave."""

    apparent: int
    disk: int
    files: int


class Gone(Exception):
    """A file went away while the checkpoint was looked at: it is being written, or taken away."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing but the paths: the folder in which a run keeps its checkpoints, or one checkpoint."""


def audit(arguments: argparse.Namespace) -> AuditResult:
    """Size every checkpoint below the paths; memory grows with the number of checkpoints and hard links only."""
    notes = Notes(ITEM)
    sizes: Dict[str, Size] = {}
    for path in arguments.paths:
        for name, parts in _checkpoints(path, notes):
            found = _size_of(name, parts, notes)
            if found is not None and found.files:
                sizes[name] = found
    if not sizes:
        notes.problem(ITEM, MISSING, "no checkpoint with a file in it is there: name the folder that holds them")
        return notes.result()
    _tell(sizes, notes)
    return notes.result()


def _tell(sizes: Dict[str, Size], notes: Notes) -> None:
    """The largest stands for all: one that is still being written is smaller."""
    largest = max(sizes.values())
    notes.fact(ITEM, "checkpoint_size", round(largest.apparent / _GIB, 6), "GiB")
    notes.fact(ITEM, "checkpoint_disk", round(largest.disk / _GIB, 6), "GiB")
    notes.fact(ITEM, "checkpoints", len(sizes), "count")
    for name, size in list(sizes.items())[:SHOWN]:
        told = f"{size.apparent / 1e9:.3f} GB in {size.files} files, {size.disk / 1e9:.3f} GB on disk"
        notes.finding(ITEM, name, told)
    if len(sizes) > SHOWN:
        notes.finding(ITEM, "", f"and {len(sizes) - SHOWN} checkpoints more")


def _checkpoints(path: str, notes: Notes) -> Iterator[Tuple[str, List[str]]]:
    """Each checkpoint by its name, with the files and folders that it is made of.

    A folder whose name holds a number is a checkpoint (``global_step1000``, ``iter_0001000``, ``checkpoint-500``);
    where there is none, files are, by the last number of their names (``step=100.ckpt``). Where nothing is called so,
    the path itself is one.
    """
    steps: Dict[str, List[str]] = {}
    numbered = [(name, numbers[-1]) for name in _names(path, notes) if (numbers := _numbers(path, name))]
    folders = [one for one in numbered if os.path.isdir(os.path.join(path, one[0]))]
    for name, number in folders or numbered:
        steps.setdefault(_stem(name, number), []).append(os.path.join(path, name))
    if steps and not _is_one(steps):
        yield from ((os.path.join(path, step), parts) for step, parts in sorted(steps.items()))
    else:
        yield path, [path]


def _numbers(path: str, name: str) -> List[str]:
    """The numbers in a name; none in that of a link, which leads to what is counted already, or to something else."""
    return [] if os.path.islink(os.path.join(path, name)) else _STEP.findall(os.path.splitext(name)[0])


def _stem(name: str, number: str) -> str:
    """The name up to its last number: files of one step that differ behind it belong together."""
    return name[: name.rindex(number) + len(number)]


def _is_one(steps: Dict[str, List[str]]) -> bool:
    """Whether these are the shards of one checkpoint: nothing but files, named by rank and part."""
    parts = [part for held in steps.values() for part in held]
    return all(os.path.isfile(part) for part in parts) and any(
        re.search(r"rank|shard|mp_|-of-|\.distcp$", os.path.basename(part)) for part in parts
    )


def _names(path: str, notes: Notes) -> List[str]:
    if not os.path.isdir(path):
        return []
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        notes.problem(ITEM, DENIED, f"{path} could not be read ({error.strerror or error})")
        return []


def _size_of(name: str, parts: List[str], notes: Notes) -> Optional[Size]:
    """The size of one checkpoint; None, with the reason, where it could not be walked to its end."""
    apparent = disk = files = 0
    seen: Set[Tuple[int, int]] = set()
    try:
        for held in (held for part in parts for held in _files(part)):
            if held.st_nlink > 1:
                if (held.st_dev, held.st_ino) in seen:
                    continue
                seen.add((held.st_dev, held.st_ino))
            apparent, disk, files = apparent + held.st_size, disk + held.st_blocks * 512, files + 1
    except Gone:
        notes.finding(ITEM, name, "files went away while it was looked at; it is left out")
        return None
    except OSError as error:
        kind = DENIED if isinstance(error, PermissionError) else UNREADABLE
        notes.problem(ITEM, kind, f"{error.filename or name} could not be read ({error.strerror or error})")
        return None
    return Size(apparent, disk, files)


def _files(path: str) -> Iterator[os.stat_result]:
    """Every regular file below *path*, or the one that it is; links are not followed, and count for nothing."""
    waiting = [path]
    while waiting:
        place = waiting.pop()
        try:
            held = os.lstat(place)
            if stat.S_ISDIR(held.st_mode):
                with os.scandir(place) as entries:
                    waiting.extend(entry.path for entry in entries)
            elif stat.S_ISREG(held.st_mode):
                yield held
        except FileNotFoundError as error:
            raise Gone from error
