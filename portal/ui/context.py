"""What every page's bar says to its reader."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from checks.selectors.pages_waiting import open_slots


def waiting(request: HttpRequest) -> dict[str, Any]:
    """How many signatures wait for the reader; asked only by pages that show the bar to somebody."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"waiting": 0}
    return {"waiting": SimpleLazyObject(lambda: len(open_slots(user)))}
