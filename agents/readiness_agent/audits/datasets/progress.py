"""How far an audit is, how fast, and how long it still takes: on a terminal, and nowhere else."""

from __future__ import annotations

import sys
import time

EACH_S = 0.5
"""Seconds between two lines."""


class Progress:
    """Bytes read of all that are to be read."""

    def __init__(self, total_bytes: int) -> None:
        self._total = max(total_bytes, 1)
        self._done = 0
        self._skipped = 0
        self._began = self._told = time.monotonic()
        self._is_shown = sys.stderr.isatty()

    def skip(self, size: int) -> None:
        """Some bytes were read on an earlier day: they say nothing of today's rate."""
        self._done += size
        self._skipped += size

    def at(self, before: int, within: int) -> None:
        """*within* bytes of a file are read, before which *before* bytes were."""
        self._done = before + within
        now = time.monotonic()
        if self._is_shown and now - self._told >= EACH_S:
            self._told = now
            print(f"\r\x1b[K{self.line(now)}", end="", file=sys.stderr, flush=True)

    def line(self, now: float) -> str:
        """One line for people."""
        rate = (self._done - self._skipped) / max(now - self._began, 1e-3)
        left = (self._total - self._done) / rate if rate > 0 else 0.0
        share = min(100 * self._done // self._total, 100)
        return f"{share} % of {_size(self._total)}, {_size(rate)}/s, {_span(left)} left"

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.3g} {unit}"


def _span(seconds: float) -> str:
    whole = int(max(seconds, 0))
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
