"""What people see is theirs and of this moment: nothing on the way may keep a copy of it."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

KEPT_BY_NOBODY = "private, no-store"


class KeptByNobody:
    """Forbids caches to store any answer, unless the answer does so itself.

    Stands behind those who answer for static files and for programs: both may be kept, each by its own rules.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if "no-store" not in response.headers.get("Cache-Control", ""):
            response.headers["Cache-Control"] = KEPT_BY_NOBODY
        return response
