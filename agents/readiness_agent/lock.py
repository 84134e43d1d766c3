"""One tick at a time. Imported before anything heavy: a hundred ticks behind a slow one must cost nearly nothing."""

from __future__ import annotations

import fcntl
import os
import time
from typing import Optional

from readiness_agent.files import open_own, place_in_memory

LONG_HELD = 30 * 60
"""Seconds after which a held lock is reported. It is never broken: its holder lives."""


class TickLock:
    """A record lock on a file: the kernel drops it with the process that holds it, so none can be stale.

    Record locks are not inherited over ``fork``: an abandoned probe cannot hold one. The file tells who holds it
    and since when; what a dead process left there means nothing. On a disk that is read-only or full the lock lies
    in memory instead: such a node has to be measured more than any other.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Optional[int] = None

    def acquire(self) -> bool:
        """Take the lock; False when another tick holds it. Raises OSError when neither disk nor memory has a place."""
        file = self._open()
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(file)
            return False
        self._file = file
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()} {time.clock_gettime(time.CLOCK_BOOTTIME):.0f}\n".encode(), 0)
        except OSError:
            pass  # a full disk: the lock holds, and only does not tell since when
        return True

    def acquire_within(self, seconds: float) -> bool:
        """Take the lock, waiting at most *seconds* for a tick to end."""
        end = time.monotonic() + seconds
        while not self.acquire():
            if time.monotonic() >= end:
                return False
            time.sleep(0.1)
        return True

    def held_for(self) -> Optional[float]:
        """Seconds for which the present holder has had it, when the file tells."""
        try:
            with open(self._path, encoding="ascii") as file:
                since = float(file.read().split()[1])
        except (OSError, ValueError, IndexError):
            return None
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - since)

    def _open(self) -> int:
        try:
            return open_own(self._path)
        except OSError as error:
            self._path = place_in_memory(self._path)
            try:
                return open_own(self._path)
            except OSError:
                raise error from None

    def release(self) -> None:
        """Give it back; the end of the process does so too."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
