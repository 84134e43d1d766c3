"""One page, one live part: the page includes the part, and a poll gets the part alone, or 204 when nothing changed."""

import hashlib
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from portal.ui.requests import PersonRequest

POLL_EVERY_S = 15
# While somebody waits for a measurement they asked for.
POLL_CLOSELY_EVERY_S = 3


def marker_of(*seen: object) -> str:
    """A short mark of everything on the page that can change, ages left out: equal marks, equal pages."""
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


def minute(at: datetime | None) -> int | None:
    """*at* to the minute: a fleet reports all the time, and a page need not move more often than that."""
    return None if at is None else int(at.timestamp() // 60)


def render_live(
    request: PersonRequest, page: str, context: dict[str, Any], *, marker: str, every_s: int = POLL_EVERY_S
) -> HttpResponse:
    """The whole page, or its live part to a poll, or 204 to a poll whose ``marker`` still holds."""
    response = _answer(request, page, {**context, "marker": marker, "every_s": every_s})
    patch_vary_headers(response, ["HX-Request"])
    return response


def _answer(request: PersonRequest, page: str, context: dict[str, Any]) -> HttpResponse:
    if not request.htmx:
        return render(request, f"ui/{page}/page.html", context)
    if request.GET.get("marker") == context["marker"]:
        return HttpResponse(status=204)
    response = render(request, f"ui/{page}/_live.html", context)
    response["X-Live"] = "part"
    return response
