"""Who is served when many come at once: the gate is asked while 4,096 nodes report within one second.

A web process has many threads, and they wait rather than work: reports are worked on ``AT_ONCE`` at a time, and the
others stand in line for as long as an agent waits for its answer. Who would wait for longer is told at once when to
come again: an agent keeps its report and says how old it is, so it loses nothing by coming later. Whoever does not
report finds a thread and a database connection free.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from checks.api.problems import CONTENT_TYPE, problem
from portal.connections import ConnectionsToLend

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

#: Threads of one web process, as ``portal.quickstart.programs`` and the Dockerfile start them; agents leave some free.
THREADS: Final = 256
PLACES: Final = THREADS - 16
AT_ONCE: Final = 4
#: Database connections of one process: those that reports work on, and six for everybody else.
CONNECTIONS: Final = AT_ONCE + 6
#: An agent gives up after 10 s of silence.
LONGEST_WAIT_S: Final = 6.0
LONGEST_PAUSE_S: Final = 60.0

_PATHS: Final = ("/api/v1/reports", "/api/v1/enroll", "/api/v1/agent/")
_FULL: Final = "More agents report than this portal can store at once; send the report again after Retry-After seconds."


class Lanes:
    """A WSGI application in front of another: one lane for agents, one for everybody else."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._connections = ConnectionsToLend(CONNECTIONS)
        self._line = Line()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """The whole answer; 503 with Retry-After where the line is too long, which costs next to nothing."""
        if not environ["PATH_INFO"].startswith(_PATHS):
            return self._answer(environ, start_response)
        with self._line.turn() as come_again_s:
            if come_again_s is None:
                return self._answer(environ, start_response)
        return _come_again(start_response, come_again_s)

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ.pop("wsgi.file_wrapper", None)  # a file is read here, and not after its request has ended
        with self._connections.lent():
            parts = self._application(environ, start_response)
            try:
                return [b"".join(parts)]
            finally:
                if hasattr(parts, "close"):
                    parts.close()  # the request's end, for which Django still wants the connection


class Line:
    """Agents that wait for their turn, and appointments for those who shall come again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._work = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._inside = 0
        self._seconds_each = 0.01
        self._booked_until = clock()

    @contextmanager
    def turn(self) -> Iterator[int | None]:
        """Wait for a turn and take it: None. Or, without waiting, seconds until one will be free."""
        with self._lock:
            come_again_s = self._come_again_s()
            self._inside += come_again_s is None
        if come_again_s is not None:
            yield come_again_s
            return
        try:
            with self._work:
                started = self._clock()
                yield None
                self._seconds_each += (self._clock() - started - self._seconds_each) / 16
        finally:
            with self._lock:
                self._inside -= 1

    def _come_again_s(self) -> int | None:
        """None where the line is short enough; else the next appointment, which is taken by asking."""
        pace = self._seconds_each / AT_ONCE
        if self._inside < AT_ONCE or (self._inside < PLACES and self._inside * pace < LONGEST_WAIT_S):
            return None
        now = self._clock()
        self._booked_until = max(self._booked_until, now + self._inside * pace) + pace
        return math.ceil(min(self._booked_until - now, LONGEST_PAUSE_S))


def _come_again(start_response: Callable[..., Any], seconds: int) -> Iterable[bytes]:
    body = json.dumps(problem(status=503, code="busy", detail=_FULL)).encode()
    headers = {"Content-Type": CONTENT_TYPE, "Content-Length": str(len(body)), "Retry-After": str(seconds)}
    start_response("503 Service Unavailable", list(headers.items()))
    return [body]
