"""Database connections that are kept between requests: when one has to prove that it still lives.

Django asks each kept connection with a statement of its own before the first real one, on every request: a tenth of
what the gate may cost. One that answered a moment ago is taken at its word; should it have died since, that one request
is answered with 503 or *unknown*, and Django opens another connection for the next.
"""

import threading
import time
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import connections

#: How long a connection that proved to live is taken to go on living.
TRUSTED_S = 10.0


class _Proof(threading.local):
    """When this thread's connections last proved to live, and whether the request at hand takes that for granted."""

    at = -TRUSTED_S
    granted = False


_proof = _Proof()


def trust_fresh_connections() -> None:
    """From now on, have a connection asked once in ``TRUSTED_S``, and not on every request."""
    request_started.connect(_trust, dispatch_uid="connections.trust")  # after Django's own receiver, which asks anew
    request_finished.connect(_note, dispatch_uid="connections.note")


def _trust(**_: Any) -> None:
    _proof.granted = time.monotonic() - _proof.at < TRUSTED_S
    if _proof.granted:
        for connection in connections.all(initialized_only=True):
            connection.health_check_done = True  # type: ignore[attr-defined]


def _note(**_: Any) -> None:
    opened = connections.all(initialized_only=True)
    if not _proof.granted and any(one.health_check_done for one in opened):  # type: ignore[attr-defined]
        _proof.at = time.monotonic()
