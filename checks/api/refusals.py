"""What Django itself refuses or fails at, before a view is reached, told in the language of whoever asked.

A scheduler must never read a page where it expects a decision: below ``/gate/`` it is text that begins with
``unknown``, below ``/api/`` a problem; only people get a page.
"""

import sys
from typing import Any

from django.core.exceptions import BadRequest
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views import defaults

from checks.api.gate_http import text_refusal
from checks.api.problems import DATABASE_RETRY_S, problem_response

_UNKNOWN_HOST = (
    "The portal refused the request before reading it, most likely because it does not know the Host name; "
    "use the address in PORTAL_URL, or add this one to ALLOWED_HOSTS."
)
_FAILED = "The portal could not work out an answer; take it as unknown."


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's ``handler400``."""
    detail = str(exception) if isinstance(exception, BadRequest) else _UNKNOWN_HOST
    return _told(request, status=400, code="bad_request", detail=detail) or defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's ``handler500``; a 503 where the same question may be answered in a moment, for programs in any case."""
    unknown = {"decision": "unknown", "ready": False}
    told = _told(request, status=503, code="cannot_tell", detail=_FAILED, **unknown)
    if told is not None:
        return told
    page = defaults.server_error(request)
    if isinstance(sys.exception(), OperationalError | InterfaceError):
        page.status_code, page["Retry-After"] = 503, str(DATABASE_RETRY_S)
    return page


def _told(request: HttpRequest, *, status: int, code: str, detail: str, **more: Any) -> HttpResponse | None:
    """The refusal for a program; None when a person asked."""
    if request.path.startswith("/gate/"):
        return text_refusal(status=status, code=code, detail=detail)
    if request.path.startswith("/api/"):
        return problem_response(status=status, code=code, detail=detail, **more)
    return None
