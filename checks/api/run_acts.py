"""Acts that take a person at a browser who has just proved to be there: no token does them, of whatever kind.

They have addresses all the same, so that a program that tries is told why, and not that there is nothing here.
"""

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from checks.api.authentication import BearerToken
from checks.api.openapi import PROBLEMS
from checks.api.permissions import AnyToken, HasScope
from checks.api.run_openapi import SIGNATURES
from checks.api.runs import OperatorView, signatures_of
from checks.api.throttles import OperatorThrottle
from checks.domain.errors import CountersignError


class BrowserOnly(CountersignError):
    """Only a person may do that, never a token, whosever it is."""

    code = "browser_only"
    status = 403

    def __init__(self) -> None:
        super().__init__(
            "Only a person at a browser does that, after proving to be there; open the run's page in the portal."
        )


class PersonsActView(APIView):
    """An act of a person."""

    authentication_classes = [BearerToken]
    permission_classes = [AnyToken]
    throttle_classes = [OperatorThrottle]

    @extend_schema(exclude=True)
    def post(self, request: Request, **_: str) -> Response:
        """Refused, with any token."""
        raise BrowserOnly


class SignaturesView(OperatorView):
    """What was signed; to be read by programs, and written by people."""

    def get_permissions(self) -> list[BasePermission]:
        """Whoever tries to sign hears that no token can, not that theirs lacks a scope."""
        return [AnyToken() if self.request.method == "POST" else HasScope()]

    @extend_schema(operation_id="runs_signatures", tags=["runs"], responses={200: SIGNATURES, **PROBLEMS})
    def get(self, request: Request, run: str) -> Response:
        """What the signatures of each layer amount to now, and every one there ever was."""
        return Response(signatures_of(request, run))

    @extend_schema(operation_id="runs_sign", tags=["runs"], request=None, responses=PROBLEMS)
    def post(self, request: Request, run: str) -> Response:
        """Never: a person signs at a browser, after proving to be there. Answers ``browser_only`` to every token."""
        raise BrowserOnly
