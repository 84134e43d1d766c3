"""``POST`` and ``DELETE /api/v1/nodes/{hostname}/claim``: an agent takes its own node to measure, and gives it back."""

from typing import Annotated, Final

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from msgspec import Meta, Struct
from rest_framework.request import Request
from rest_framework.status import HTTP_201_CREATED, HTTP_204_NO_CONTENT
from rest_framework.views import APIView

from checks.api.authentication import BearerToken, token_of
from checks.api.decode import decode_json, read_body
from checks.api.openapi import PROBLEMS, describe
from checks.api.permissions import HasScope
from checks.api.throttles import AgentThrottle
from checks.services.claims import LONGEST_CLAIM, claim_node, release_node
from checks.services.report_v1 import Name


class ClaimV1(Struct, forbid_unknown_fields=True, frozen=True):
    """What an agent wants its node for, and for how long at most."""

    items: Annotated[list[Name], Meta(min_length=1, max_length=64)]
    minutes: Annotated[int, Meta(ge=1, le=LONGEST_CLAIM)]


class ClaimedV1(Struct, frozen=True):
    """A claim that stands: until when (RFC 3339), and how many seconds that is from now."""

    node: str
    items: list[str]
    until: str
    seconds: int


CLAIM: Final = describe(ClaimV1)
CLAIMED: Final = describe(ClaimedV1)


class ClaimView(APIView):
    """The claim of the node that the token belongs to."""

    authentication_classes = [BearerToken]
    permission_classes = [HasScope]
    required_scope = "agent:write"
    throttle_classes = [AgentThrottle]

    @extend_schema(
        operation_id="claim_node",
        request={"application/json": CLAIM},
        responses={(201, "application/json"): CLAIMED, **PROBLEMS},
    )
    def post(self, request: Request, hostname: str) -> HttpResponse:
        """Take the node: the gate calls it *not_ready* until the claim ends."""
        asked, now = decode_json(read_body(request), ClaimV1), timezone.now()
        claim = claim_node(
            token=token_of(request), hostname=hostname, items=asked.items, minutes=asked.minutes, now=now
        )
        said = ClaimedV1(
            hostname.lower(), claim.items, claim.until.isoformat(), int((claim.until - now).total_seconds())
        )
        return HttpResponse(msgspec.json.encode(said), status=HTTP_201_CREATED, content_type="application/json")

    @extend_schema(operation_id="release_node", responses={204: None, **PROBLEMS})
    def delete(self, request: Request, hostname: str) -> HttpResponse:
        """Give the node back; giving back what nobody holds is no error."""
        release_node(token=token_of(request), hostname=hostname, now=timezone.now())
        return HttpResponse(status=HTTP_204_NO_CONTENT)
