"""Errors as RFC 9457 problem details: a stable ``code`` for programs, one sentence for people."""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from checks.domain.errors import CountersignError

CONTENT_TYPE = "application/problem+json"
DATABASE_RETRY_S = 5

_TITLES = {
    400: "Bad request", 401: "Not authenticated", 403: "Not allowed", 404: "Not found", 405: "Method not allowed",
    406: "Not acceptable", 409: "Conflict", 411: "Length required", 413: "Too large", 415: "Unsupported media type",
    422: "Not valid", 429: "Too many requests", 500: "Internal error", 503: "Not available",
}  # fmt: skip
_DATABASE_AWAY = "The database does not answer; try again in a few seconds."


class WrongMethod(exceptions.MethodNotAllowed):
    """The address is right, the method is not; *allowed* are those that are."""

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        super().__init__(method)
        self.allowed = ", ".join(allowed)


def problem(*, status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    """The body of one problem; *more* are its extension members."""
    title = _TITLES.get(status, "Error")
    return {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail, **more}


def problem_response(*, status: int, code: str, detail: str, **more: Any) -> JsonResponse:
    """The same as a plain Django response, for views outside the API framework."""
    body = problem(status=status, code=code, detail=detail, **more)
    return JsonResponse(body, status=status, content_type=CONTENT_TYPE)


def problem_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn what a view raised into a problem; None lets an unexpected error become a logged 500."""
    described = _describe(error)
    if described is None:
        return None
    status, code, detail, headers = described
    response = Response(problem(status=status, code=code, detail=detail), status=status, headers=headers)
    response.content_type = CONTENT_TYPE
    return response


def refusal(error: Exception) -> JsonResponse | None:
    """The same for a view that goes its own way; None for an error that nobody foresaw."""
    described = _describe(error)
    if described is None:
        return None
    status, code, detail, headers = described
    response = problem_response(status=status, code=code, detail=detail)
    for name, value in headers.items():
        response[name] = value
    return response


def _describe(error: Exception) -> tuple[int, str, str, dict[str, str]] | None:
    if isinstance(error, CountersignError):
        return error.status, error.code, error.message, _challenge(error.status)
    if isinstance(error, OperationalError | InterfaceError):
        return 503, "database_unavailable", _DATABASE_AWAY, {"Retry-After": str(DATABASE_RETRY_S)}
    if isinstance(error, RequestDataTooBig):
        return 413, "too_large", "The body is larger than this portal accepts; send less at a time.", {}
    if isinstance(error, SuspiciousOperation):
        return 400, "bad_request", "The request has too many fields, or damaged ones; ask for less at a time.", {}
    if isinstance(error, Http404):
        return 404, "not_found", "There is nothing here under that name.", {}
    if isinstance(error, PermissionDenied):
        return 403, "permission_denied", "This token or person may not do that.", {}
    if isinstance(error, exceptions.APIException):
        return _describe_framework_error(error)
    return None


def _describe_framework_error(error: exceptions.APIException) -> tuple[int, str, str, dict[str, str]]:
    if isinstance(error, exceptions.Throttled):
        wait = str(max(1, round(getattr(error, "wait", None) or 1)))
        return 429, "throttled", f"Too many requests; try again in {wait} s.", {"Retry-After": wait}
    if isinstance(error, exceptions.NotAuthenticated):
        return (
            401,
            "token_required",
            "No token was sent; add the header Authorization: Bearer, followed by the token.",
            _challenge(401),
        )
    if isinstance(error, WrongMethod):
        return 405, str(error.default_code), str(error.detail), {"Allow": error.allowed}
    status = 422 if isinstance(error, exceptions.ValidationError) else error.status_code
    code = str(error.default_code)
    return status, "invalid" if status == 422 else code, _sentence(error.detail), _challenge(status)


def _sentence(detail: Any) -> str:
    if isinstance(detail, dict):
        return " ".join(f"{field}: {_sentence(value)}" for field, value in detail.items())
    if isinstance(detail, list):
        return " ".join(_sentence(value) for value in detail)
    return str(detail)


def _challenge(status: int) -> dict[str, str]:
    return {"WWW-Authenticate": 'Bearer realm="countersign"'} if status == 401 else {}
