"""How often one caller may come. Counted in the process: no cache, no database, nothing that can be away.

With several web processes the limits multiply by their number: they stop a loop gone mad, not a determined attacker.
"""

import time

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from checks.api.authentication import client_address

WINDOW_S = 60
_MOST_CALLERS = 200_000


class AgentThrottle(BaseThrottle):
    """At most ``PER_MINUTE`` calls a token and minute: a node that comes back with a full spool stays below."""

    PER_MINUTE = 600
    _window = 0
    _counts: dict[str, int] = {}

    def allow_request(self, request: HttpRequest | Request, view: APIView) -> bool:
        kind = type(self)
        window = int(time.monotonic() // WINDOW_S)
        if window != kind._window or len(kind._counts) > _MOST_CALLERS:
            kind._window, kind._counts = window, {}
        caller = _caller(request)
        kind._counts[caller] = count = kind._counts.get(caller, 0) + 1
        return count <= self.PER_MINUTE

    def wait(self) -> float:
        """Seconds until the next minute begins."""
        return WINDOW_S - time.monotonic() % WINDOW_S


class EnrolmentThrottle(AgentThrottle):
    """Room for a whole cluster that enrols with one token at the same time."""

    PER_MINUTE = 3000

    _counts: dict[str, int] = {}


class OperatorThrottle(AgentThrottle):
    """Far above what automation around runs needs."""

    _counts: dict[str, int] = {}


def _caller(request: HttpRequest | Request) -> str:
    """The public part of the token, or the address."""
    parts = request.META.get("HTTP_AUTHORIZATION", "").split("_", 3)
    return parts[2] if len(parts) == 4 else (client_address(request) or "")
