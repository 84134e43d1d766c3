"""Database connections of processes that serve requests: how long they wait, and when they prove that they live.

A caller is told within seconds that the database does not answer. The server ends what takes too long, and where it
stands still itself this side stops waiting for it (``portal.database``).

Connections are kept between requests. Django asks each kept one with a statement of its own before the first real one,
on every request: a tenth of what the gate may cost. One that answered a moment ago is taken at its word; should it have
died since, that one request is answered with 503 or *unknown*, and Django opens another connection for the next.
"""

import threading
import time
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections

from portal.environment import session_options

#: How long this side waits for the server, which should have said that it is too slow by then.
PATIENCE_S = 3.7
LIMITS = {"statement_timeout": "3500ms", "lock_timeout": "2s", "idle_in_transaction_session_timeout": "10s"}

#: How long a connection that proved to live is taken to go on living.
TRUSTED_S = 10.0


class _Proof(threading.local):
    """When this thread's connections last proved to live, and whether the request at hand takes that for granted."""

    at = -TRUSTED_S
    granted = False


_proof = _Proof()


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
    _proof.granted = time.monotonic() - _proof.at < TRUSTED_S
    if _proof.granted:
        for connection in connections.all(initialized_only=True):
            connection.health_check_done = True  # type: ignore[attr-defined]


def _note(**_: Any) -> None:
    opened = connections.all(initialized_only=True)
    if not _proof.granted and any(one.health_check_done for one in opened):  # type: ignore[attr-defined]
        _proof.at = time.monotonic()
