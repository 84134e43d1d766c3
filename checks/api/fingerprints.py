"""``POST /api/v1/agent/fingerprint``: what a node is set to, by its digest first, in full only where that is new."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from checks.api.authentication import BearerToken, token_of
from checks.api.decode import decode_fingerprint, encoding_of, read_body
from checks.api.openapi import FINGERPRINT_ANSWER, PROBLEMS, describe
from checks.api.permissions import HasScope
from checks.api.throttles import AgentThrottle
from checks.services.fingerprint_v1 import FingerprintV1
from checks.services.fingerprints import record_fingerprint


class FingerprintView(APIView):
    """Takes the settings of the node that the token belongs to."""

    authentication_classes = [BearerToken]
    permission_classes = [HasScope]
    required_scope = "agent:write"
    throttle_classes = [AgentThrottle]

    @extend_schema(
        operation_id="agent_fingerprint",
        request={"application/json": describe(FingerprintV1)},
        responses={200: FINGERPRINT_ANSWER, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Note the digest; with ``wanted: true`` the settings have to be sent as well, by the same call."""
        sent = decode_fingerprint(read_body(request), encoding=encoding_of(request))
        wanted = record_fingerprint(token=token_of(request), sent=sent, now=timezone.now())
        return Response({"wanted": wanted})
