"""The root of every error that a person or a program outside may see."""

from __future__ import annotations


class CountersignError(Exception):
    """An expected failure, told in one sentence that says what to do.

    ``code`` is stable and part of the API, ``message`` is for people, ``status`` is the HTTP status that
    fits; services raise these, and the API, the pages and the command line render them.
    """

    code = "error"
    status = 422

    def __init__(self, message: str, *, code: str | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.status = status or type(self).status


class UnitMismatch(CountersignError):
    """A value's kind or unit cannot be compared with the threshold.

    A judge turns this into *unknown*, never into *fail*: we do not know, rather than know that it is bad.
    """

    code = "unit_mismatch"


class InvalidOverride(CountersignError):
    """An override names an item, a fact or a threshold that the catalogue does not have."""

    code = "invalid_override"


class UnknownProfile(CountersignError):
    """A cluster or node names a hardware profile that the catalogue in force does not have."""

    code = "unknown_profile"
