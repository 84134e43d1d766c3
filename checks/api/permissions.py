"""Who may call what; the default is nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from checks.domain.errors import CountersignError
from checks.models import Token

if TYPE_CHECKING:
    # rest_framework.views itself loads the default permission from here.
    from rest_framework.views import APIView


class MissingScope(CountersignError):
    """The token is good, but not for this."""

    code = "missing_scope"
    status = 403


class DenyAll(BasePermission):
    """The default of every view, so that one that forgets to name its scope is closed, not open."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return False


class HasScope(BasePermission):
    """A live token with the scope that the view names in ``required_scope``."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, Token):
            raise NotAuthenticated
        scope = view.required_scope  # type: ignore[attr-defined]
        if scope not in request.auth.scopes:
            raise MissingScope(f"This token lacks the scope {scope}; use a token of the right kind.")
        return True


class HasAnyScope(BasePermission):
    """A live token with one of the scopes that the view names in ``required_scopes``."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, Token):
            raise NotAuthenticated
        scopes: tuple[str, ...] = view.required_scopes  # type: ignore[attr-defined]
        if not {*scopes} & {*request.auth.scopes}:
            raise MissingScope(f"This token lacks the scopes {', '.join(scopes)}; use a token of one of these kinds.")
        return True


class PresentsToken(BasePermission):
    """Some bearer token was sent; the service called by the view decides whether it is a good one."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, str):
            raise NotAuthenticated
        return True


class AnyToken(BasePermission):
    """A live token of whatever kind, for a view that refuses all of them in its own words."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, Token):
            raise NotAuthenticated
        return True
