"""Pages in the language that the signed-in person chose."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation


class PreferredLanguage:
    """Overrides the browser's language by ``User.language`` where that is set."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        language = getattr(request.user, "language", "")
        if language:
            translation.activate(language)
            request.LANGUAGE_CODE = translation.get_language()
        return self.get_response(request)
