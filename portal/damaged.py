"""Addresses that no name of ours can be: refused once, before any view looks something up by them."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

_NUL = "%00"


class NoNul:
    """Refuses an address that holds NUL, which no text in PostgreSQL can: asking for it would be an error of ours."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _NUL in request.META.get("QUERY_STRING", "") or "\0" in request.path_info:
            raise BadRequest("The address holds a NUL character; write it without.")
        return self.get_response(request)
