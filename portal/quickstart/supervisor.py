"""Keeps programs running: notices a death, says so in one line, starts again with a growing pause."""

import time
from collections.abc import Callable

from portal.quickstart.children import Child
from portal.quickstart.errors import QuickstartError

FIRST_PAUSE = 1.0  # seconds; doubles at each death
LONGEST_PAUSE = 30.0
STEADY = 60.0  # seconds; who ran that long starts again with the first pause
GLANCE = 0.2  # seconds between two looks

Say = Callable[[str], None]


class Service:
    """One program that should always run."""

    def __init__(self, name: str, launch: Callable[[], Child], *, child: Child | None = None) -> None:
        self.name = name
        self.child = child
        self._launch = launch
        self._started = time.monotonic()
        self._pause = FIRST_PAUSE
        self._start_at: float | None = None if child else 0.0

    def tend(self, say: Say) -> None:
        """Start it when it is due; note when it died."""
        now = time.monotonic()
        if self._start_at is not None:
            if now >= self._start_at:
                self._start(say)
        elif self.child is not None and self.child.exit_status is not None:
            self._bury(self.child, now, say)

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop()

    def _start(self, say: Say) -> None:
        self._started = time.monotonic()
        try:
            self.child = self._launch()
        except QuickstartError as error:
            self._plan_restart(f"{self.name}: {error}", say)
        else:
            self._start_at = None

    def _bury(self, child: Child, now: float, say: Say) -> None:
        child.sweep_group()
        if now - self._started > STEADY:
            self._pause = FIRST_PAUSE
        self._plan_restart(f"{self.name} ended (exit status {child.exit_status}; log: {child.log})", say)

    def _plan_restart(self, what_happened: str, say: Say) -> None:
        say(f"{what_happened}; starting it again in {self._pause:.0f} s")
        self._start_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


class Ticker:
    """A short program that is started each *period* seconds, never twice at the same time."""

    def __init__(self, launch: Callable[[], Child], *, period: float) -> None:
        self._launch = launch
        self._period = period
        self._next = time.monotonic() + period
        self.child: Child | None = None

    def tend(self) -> None:
        """Start it when its time has come and the last one is done."""
        still_running = self.child is not None and self.child.exit_status is None
        if still_running or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._period
        self.child = self._launch()

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop()


def stop_together(services: list[Service]) -> None:
    """Ask all at once, then wait for each: the slowest one decides how long it takes."""
    for service in services:
        if service.child is not None:
            service.child.ask_to_stop()
    for service in services:
        service.stop()
