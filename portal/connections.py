"""Database connections of processes that serve requests: how long they wait, and when they prove that they live.

A caller is told within seconds that the database does not answer. The server ends what takes too long, and where it
stands still itself this side stops waiting for it (``portal.database``).

Connections are kept between requests. Django asks each kept one with a statement of its own before the first real one,
on every request: a tenth of what the gate may cost. One that answered a moment ago is taken at its word; should it have
died since, that one request is answered with 503 or *unknown*, and Django opens another connection for the next.
"""

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from portal.environment import session_options

#: How long this side waits for the server, which should have said that it is too slow by then.
PATIENCE_S = 3.7
LIMITS = {"statement_timeout": "3500ms", "lock_timeout": "2s", "idle_in_transaction_session_timeout": "10s"}

#: How long a connection that proved to live is taken to go on living.
TRUSTED_S = 10.0


def serve_requests() -> None:
    """From now on, connections of this process are for callers who wait."""
    end_waits()
    trust_fresh_connections()


def end_waits() -> None:
    """Hold the serving role's connections, from the next one that is opened, to what a caller can wait."""
    options = connections.settings["default"]["OPTIONS"]
    options["options"] = f"{options.get('options', '')} {session_options(LIMITS)}"
    options["patience_s"] = PATIENCE_S


def trust_fresh_connections() -> None:
    """From now on, have a connection asked once in ``TRUSTED_S``, and not on every request."""
    request_started.connect(_trust, dispatch_uid="connections.trust")  # after Django's own receiver, which asks anew
    # Before Django's own, which forgets who has proved to live.
    request_finished.disconnect(close_old_connections)
    request_finished.connect(_note, dispatch_uid="connections.note")
    request_finished.connect(close_old_connections)


def _trust(**_: Any) -> None:
    for connection in connections.all(initialized_only=True):
        if time.monotonic() - _proved_at(connection) < TRUSTED_S:
            connection.health_check_done = True  # type: ignore[attr-defined]


def _note(**_: Any) -> None:
    for connection in connections.all(initialized_only=True):
        if connection.health_check_done and time.monotonic() - _proved_at(connection) >= TRUSTED_S:  # type: ignore[attr-defined]
            connection.proved_at = time.monotonic()  # type: ignore[attr-defined]


def _proved_at(connection: Any) -> float:
    """When the connection last proved to live."""
    return float(getattr(connection, "proved_at", -TRUSTED_S))


class ConnectionsToLend:
    """Connections of one process, lent to requests and not to threads: a process has many threads that only wait."""

    def __init__(self, most: int) -> None:
        self._room = threading.BoundedSemaphore(most)
        self._free: queue.LifoQueue[BaseDatabaseWrapper] = queue.LifoQueue()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """One connection for what this thread does, the one that was used last if any is free."""
        with self._room:
            connection = self._take()
            connections["default"] = connection
            try:
                yield
            finally:
                del connections["default"]
                self._free.put(connection)

    def _take(self) -> BaseDatabaseWrapper:
        try:
            return self._free.get_nowait()
        except queue.Empty:
            connection = connections.create_connection("default")
            connection.inc_thread_sharing()  # from one thread to the next, never in two at once
            return connection
