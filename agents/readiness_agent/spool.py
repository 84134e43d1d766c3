"""Reports on their way: written before the first try to send, deleted after the portal has them.

One file a report, named by a running number: order does not depend on a clock. Its first line describes the rest,
checksum included; a damaged file is set aside, counted and never tried again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.files import make_private_directory, read_json, write_bytes, write_json
from readiness_agent.node import Moment, seconds_since, stored_moment
from readiness_agent.values import finite

MAX_BYTES = 64 * 1024 * 1024
MAX_FILES = 4032
"""7 days of a tick each 5 minutes, and as many re-checks."""
MAX_AGE = 7 * 24 * 3600.0
"""Seconds; the portal remembers report ids for 8 days."""
KEPT_BAD = 10
MIN_FREE_BYTES = 256 * 1024 * 1024
MIN_FREE_SHARE = 0.05

REPORT_NAME = re.compile(r"[0-9]{12}-[^/]*(?<!\.tmp)\Z")
"""Whatever else lies in the directory (``lost+found``, a person's file) is not ours to send or to move."""


class Entry(NamedTuple):
    """One report that waits."""

    path: str
    report_id: str
    written: Moment
    lost: Dict[str, int]
    """Losses that this report tells the portal about."""
    body: bytes
    """gzip."""


class SpoolFull(Exception):
    """The disk has no room for another report; it can still be sent from memory."""


class Spool:
    """The directory of waiting reports, oldest first, bounded in bytes, files and age."""

    def __init__(self, state: str) -> None:
        self.directory = os.path.join(state, "spool")
        self.bad = os.path.join(state, "bad")
        self._lost_file = os.path.join(state, "lost.json")

    def open(self) -> None:
        """Create the directories, and remove what a write cut short by a crash left behind."""
        make_private_directory(self.directory)
        make_private_directory(self.bad)
        for name in os.listdir(self.directory):
            if name.endswith(".tmp"):
                os.unlink(os.path.join(self.directory, name))

    def lost(self) -> Dict[str, int]:
        """Losses no report has carried yet: dropped from the spool, refused or damaged."""
        stored = read_json(self._lost_file)
        return {kind: max(0, int(finite(stored.get(kind)) or 0)) for kind in ("spool", "bad")}

    def add(self, report_id: str, body: bytes, written: Moment, lost: Dict[str, int]) -> Entry:
        """Store one report durably; from now on *lost* is its to tell.

        Raises:
            SpoolFull: the file system has less than 5 % or 256 MiB left.
            OSError: the directory cannot be written.
        """
        self._require_room(len(body))
        path = os.path.join(self.directory, f"{self._next_number():012d}-{report_id}")
        head: Dict[str, Any] = {"report_id": report_id, "written": list(written), "lost": lost}
        head["sha256"] = _checksum(head, body)
        write_bytes(path, json.dumps(head).encode() + b"\n" + body)
        try:
            self._count({kind: -number for kind, number in lost.items()})
        except OSError:
            pass  # the disk filled up in this moment: the report is safe, and the same loss will be told once more
        return Entry(path, report_id, written, lost, body)

    def trim(self, now: Moment) -> None:
        """Drop the oldest reports until the bounds hold, and count each one."""
        sizes = [(path, os.path.getsize(path)) for path in self._paths()]
        total = sum(size for _, size in sizes)
        for position, (path, size) in enumerate(sizes):
            if total <= MAX_BYTES and len(sizes) - position <= MAX_FILES and not self._is_too_old(path, now):
                return
            self._drop(path)
            total -= size

    def waiting(self) -> List[str]:
        """Paths of waiting reports, oldest first."""
        return self._paths()

    def load(self, path: str) -> Optional[Entry]:
        """Read one waiting report; a damaged one is moved to ``bad/``, counted, and None is returned."""
        try:
            return _decode(path)
        except (OSError, ValueError, KeyError, TypeError):
            self.set_aside(path, {})
            return None

    def delivered(self, entry: Entry) -> None:
        """The portal has it. One that cannot be deleted is sent again, and known there by its id."""
        try:
            os.unlink(entry.path)
        except OSError:
            pass  # the disk has become read-only; the report itself arrived

    def set_aside(self, path: str, lost: Dict[str, int]) -> None:
        """Move a refused or damaged report to ``bad/``, keep the newest ten there, and count it.

        What it would have told about earlier losses is counted again, for the next report to tell.
        """
        try:
            os.replace(path, os.path.join(self.bad, os.path.basename(path)))
            self._keep_newest_bad()
            self._count({"spool": lost.get("spool", 0), "bad": lost.get("bad", 0) + 1})
        except OSError:
            pass  # a read-only disk: it stays, and is refused and counted when it can be moved

    def count_lost(self, reports: int) -> None:
        """*reports* were never on the disk and are gone; raises OSError when that cannot even be counted in memory."""
        if reports:
            self._count({"spool": reports})

    def _keep_newest_bad(self) -> None:
        kept = [os.path.join(self.bad, name) for name in os.listdir(self.bad)]
        for oldest in sorted(kept, key=lambda each: os.stat(each).st_ctime_ns)[:-KEPT_BAD]:
            os.unlink(oldest)

    def _drop(self, path: str) -> None:
        try:
            lost = _decode(path).lost
        except (OSError, ValueError, KeyError, TypeError):
            lost = {}
        os.unlink(path)
        self._count({"spool": lost.get("spool", 0) + 1, "bad": lost.get("bad", 0)})

    def _count(self, gained: Dict[str, int]) -> None:
        before = self.lost()
        write_json(self._lost_file, {kind: max(0, before[kind] + gained.get(kind, 0)) for kind in before})

    def _paths(self) -> List[str]:
        try:
            names = os.listdir(self.directory)
        except OSError:
            return []  # open() has said so
        return [os.path.join(self.directory, name) for name in sorted(names) if REPORT_NAME.match(name)]

    def _next_number(self) -> int:
        numbers = [int(os.path.basename(path).partition("-")[0]) for path in self._paths()]
        return max(numbers, default=0) + 1

    def _is_too_old(self, path: str, now: Moment) -> bool:
        try:
            return seconds_since(_decode(path).written, now) > MAX_AGE
        except (OSError, ValueError, KeyError, TypeError):
            return False  # damaged: load() sets it aside and counts it

    def _require_room(self, size: int) -> None:
        disk = os.statvfs(self.directory)
        free = disk.f_bavail * disk.f_frsize
        if free - size < max(MIN_FREE_BYTES, MIN_FREE_SHARE * disk.f_blocks * disk.f_frsize):
            raise SpoolFull(f"{self.directory}: the file system is nearly full")


def _checksum(head: Dict[str, Any], body: bytes) -> str:
    described = json.dumps({key: head[key] for key in ("report_id", "written", "lost")}).encode()
    return hashlib.sha256(described + body).hexdigest()


def _decode(path: str) -> Entry:
    """Read and verify one file; raises ValueError, KeyError or TypeError when it is damaged."""
    head, body = _split(path)
    if head["sha256"] != _checksum(head, body):
        raise ValueError("checksum does not match")
    written = stored_moment(head["written"])
    if written is None:
        raise ValueError("no time of writing")
    return Entry(path, head["report_id"], written, head["lost"], body)


def _split(path: str) -> Tuple[Dict[str, Any], bytes]:
    with open(path, "rb") as file:
        head, separator, body = file.read().partition(b"\n")
    if not separator:
        raise ValueError("no first line")
    try:
        value = json.loads(head)
    except RecursionError as error:
        raise ValueError("the first line is no JSON of ours") from error
    if not isinstance(value, dict):
        raise ValueError("the first line is no object")
    return value, body
