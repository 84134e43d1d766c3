"""What a list of runs or of their acts may be asked for, and the address of its next page."""

from typing import Annotated, TypeVar

import msgspec
from rest_framework.request import Request

from checks.api.gate_question import BadQuestion, query_fields

T = TypeVar("T")
_Before = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class Page(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What lies before the thing numbered *before*; without it the newest."""

    before: _Before | None = None


class RunFilter(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Runs of one cluster or stage where named."""

    before: _Before | None = None
    cluster: str = ""
    stage: str = ""


def read_page(request: Request) -> Page:
    """Which page of a list is asked for.

    Raises:
        BadQuestion: a field is unknown, repeated or of the wrong kind.
    """
    return _read(request, Page)


def read_run_page(request: Request) -> RunFilter:
    """Which page of which runs is asked for.

    Raises:
        BadQuestion: as ``read_page``.
    """
    return _read(request, RunFilter)


def next_page(request: Request, before: int | None) -> str | None:
    """Where the same list goes on; None at its end."""
    if before is None:
        return None
    query = request.GET.copy()
    query["before"] = str(before)
    return f"{request.path}?{query.urlencode()}"


def _read(request: Request, kind: type[T]) -> T:
    try:
        return msgspec.convert(query_fields(request), kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadQuestion(f"{error}; follow the address in `next` of the page before.") from error
