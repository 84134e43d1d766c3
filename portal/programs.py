"""Requests of programs, past everything that only a browser needs.

Agents and schedulers bring a token and nothing else. Sessions, messages, languages and sign-in would cost them as much
as the answer itself, and a session may even ask the database.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils import translation

PATHS = ("/api", "/gate", "/agent/", "/healthz", "/readyz", "/metrics")


class ProgramsFirst:
    """Hands requests of programs to their view at once; all others go on to the next middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._answer: Callable[[HttpRequest], Any] = convert_exception_to_response(_Straight().answer)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(PATHS):
            answer: HttpResponse = self._answer(request)
            return answer
        return self.get_response(request)


class _Straight(BaseHandler):
    """Django's own way from an address to its view, without any middleware."""

    _view_middleware: Sequence[Any] = ()
    _template_response_middleware: Sequence[Any] = ()
    _exception_middleware: Sequence[Any] = ()

    def answer(self, request: HttpRequest) -> HttpResponse:
        """The view's answer, in English; ``DisallowedHost`` where the request was meant for another site."""
        request.get_host()
        translation.deactivate()
        response: HttpResponse = self._get_response(request)  # type: ignore[attr-defined]
        if not response.streaming and not response.has_header("Content-Length"):
            response["Content-Length"] = str(len(response.content))
        return response
