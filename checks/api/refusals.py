"""What Django itself refuses or fails at, before a view is reached, told in the language of whoever asked.

A scheduler must never read a page where it expects a decision: below ``/gate/`` it is text that begins with
``unknown``, below ``/api/`` a problem; only people get a page.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from checks.api.gate_http import text_refusal
from checks.api.problems import problem_response

_UNKNOWN_HOST = (
    "The portal refused the request before reading it, most likely because it does not know the Host name; "
    "use the address in PORTAL_URL, or add this one to ALLOWED_HOSTS."
)
_FAILED = "The portal could not work out an answer; take it as unknown."


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's ``handler400``."""
    return _told(request, status=400, code="bad_request", detail=_UNKNOWN_HOST) or defaults.bad_request(
        request, exception
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's ``handler500``; for programs a 503, because the same question may be answered in a moment."""
    unknown = {"decision": "unknown", "ready": False}
    return _told(request, status=503, code="cannot_tell", detail=_FAILED, **unknown) or defaults.server_error(request)


def _told(request: HttpRequest, *, status: int, code: str, detail: str, **more: Any) -> HttpResponse | None:
    """The refusal for a program; None when a person asked."""
    if request.path.startswith("/gate/"):
        return text_refusal(status=status, code=code, detail=detail)
    if request.path.startswith("/api/"):
        return problem_response(status=status, code=code, detail=detail, **more)
    return None
