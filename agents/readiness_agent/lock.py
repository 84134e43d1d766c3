"""One tick at a time. Imported before anything heavy: a hundred ticks behind a slow one must cost nearly nothing."""

from __future__ import annotations

import fcntl
import os
import time
from typing import Optional

LONG_HELD = 30 * 60
"""Seconds after which a held lock is reported. It is never broken: its holder lives."""


class TickLock:
    """A record lock on a file: the kernel drops it with the process that holds it, so none can be stale.

    Record locks are not inherited over ``fork``: an abandoned probe cannot hold one. The file tells who holds it
    and since when; what a dead process left there means nothing.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Optional[int] = None

    def acquire(self) -> bool:
        """Take the lock; False when another tick holds it."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(file)
            return False
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()} {time.clock_gettime(time.CLOCK_BOOTTIME):.0f}\n".encode(), 0)
        self._file = file
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

    def release(self) -> None:
        """Give it back; the end of the process does so too."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
