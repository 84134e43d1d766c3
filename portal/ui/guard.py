"""What every page asks before its view runs, and what becomes of errors that we expect."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from checks.domain.errors import CountersignError

View = Callable[..., HttpResponseBase]


def person_page(*methods: str) -> Callable[[View], View]:
    """A page for signed-in people, by *methods* only (GET and HEAD when none are named)."""

    def wrap(view: View) -> View:
        allowed = require_http_methods(list(methods) or ["GET", "HEAD"])
        return allowed(login_required(_explaining(view)))

    return wrap


def _explaining(view: View) -> View:
    @wraps(view)
    def explained(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if _holds_nul(request):
            raise Http404
        try:
            return view(request, *args, **kwargs)
        except CountersignError as error:
            return render(request, "ui/problem.html", {"error": error}, status=error.status)

    return explained


def _holds_nul(request: HttpRequest) -> bool:
    """Whether the address holds the one character that no text in the database can."""
    return "\0" in request.path or any("\0" in text for _, texts in request.GET.lists() for text in texts)
