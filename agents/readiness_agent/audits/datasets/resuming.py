"""Where an audit stands, put down every few seconds, so that a killed one goes on instead of beginning again."""

from __future__ import annotations

import json
import os
import re
import time
from array import array
from typing import Any, Dict, List

from readiness_agent.audits.datasets.duplicates import Kept
from readiness_agent.audits.datasets.minhash import VALUES
from readiness_agent.files import json_bytes, make_private_directory, write_bytes

EACH_S = 2.0
"""Seconds of work that a kill may cost."""

_STATE = "dataset-audit.json"
_SIGNATURES = re.compile(r"dataset-audit-[0-9]+\.bin")
_RECORD = 8 + 2 * VALUES


class Bookmark:
    """A directory of our own with what was counted; without one (an empty path) nothing is kept."""

    def __init__(self, directory: str, design: Dict[str, Any], kept: Kept) -> None:
        self._directory = directory
        self._design = design
        self._kept = kept
        self._saved = 0
        self._generation = 0
        self._last = time.monotonic()
        self.shards: Dict[str, Dict[str, Any]] = {}
        """By path: what the file was like, its digest, its tally and where reading goes on."""

    def take_up(self, stamps: Dict[str, List[int]]) -> bool:
        """Go on from what an audit with the same design left, when no file has changed since: *stamps* says so.

        Returns:
            Whether there was something to go on from; damage, and another design, are none.
        """
        if not self._directory:
            return False
        make_private_directory(self._directory)
        told = self._told()
        if told.get("design") != self._design:
            return False
        shards: Dict[str, Dict[str, Any]] = told.get("shards", {})
        same = all(stamps.get(path) == entry.get("stamp") for path, entry in shards.items())
        if not shards or not same or not self._take_up_signatures(told.get("duplicates", {})):
            return False
        self.shards = shards
        return True

    def _take_up_signatures(self, told: Dict[str, int]) -> bool:
        kept = self._kept
        count, generation = told.get("kept", 0), told.get("halvings", 0)
        try:
            with open(self._signatures(generation), "rb") as file:
                content = file.read(count * _RECORD)
        except FileNotFoundError:
            content = b""
        if len(content) < count * _RECORD:
            return False
        for place in range(count):
            record = content[place * _RECORD : (place + 1) * _RECORD]
            kept.anchors.frombytes(record[:8])
            kept.signatures += record[8:]
        kept.documents, kept.halvings = told.get("documents", 0), generation
        self._saved, self._generation = count, generation
        return True

    def is_due(self) -> bool:
        """Whether it is time to put down where we are."""
        return bool(self._directory) and time.monotonic() - self._last >= EACH_S

    def put_down(self) -> None:
        """Write where we are; the state names only signatures that are on disk before it."""
        if not self._directory:
            return
        kept = self._kept
        self._put_down_signatures(kept)
        told = {"kept": len(kept), "documents": kept.documents, "halvings": kept.halvings}
        state = {"design": self._design, "shards": self.shards, "duplicates": told}
        write_bytes(self._state(), json_bytes(state))
        self._last = time.monotonic()

    def _put_down_signatures(self, kept: Kept) -> None:
        """Those that are new; all, in a file of their own, when the sample has become smaller."""
        old = self._generation
        if kept.halvings != old:
            self._saved, self._generation = 0, kept.halvings
        mode = "r+b" if self._saved else "wb"
        with open(self._signatures(kept.halvings), mode) as file:
            file.seek(self._saved * _RECORD)
            file.truncate()
            for place in range(self._saved, len(kept)):
                file.write(array("Q", [kept.anchors[place]]).tobytes() + bytes(kept.signature(place)))
            file.flush()
            os.fsync(file.fileno())
        self._saved = len(kept)

    def throw_away(self) -> None:
        """The audit is done: leave nothing."""
        if not self._directory:
            return
        for name in os.listdir(self._directory):
            if name == _STATE or _SIGNATURES.fullmatch(name):
                os.unlink(os.path.join(self._directory, name))

    def _state(self) -> str:
        return os.path.join(self._directory, _STATE)

    def _told(self) -> Dict[str, Any]:
        """The last state; nothing where there is none, or a damaged one: then reading begins again."""
        try:
            with open(self._state(), "rb") as file:
                told = json.loads(file.read())
        except (OSError, ValueError, RecursionError):
            return {}
        return told if isinstance(told, dict) else {}

    def _signatures(self, generation: int) -> str:
        return os.path.join(self._directory, f"dataset-audit-{generation}.bin")
