"""``POST /api/v1/enroll``: an enrolment token against a node's own."""

from typing import Annotated, Literal

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from msgspec import Meta, Struct
from rest_framework.request import Request
from rest_framework.status import HTTP_201_CREATED
from rest_framework.views import APIView

from checks.api.authentication import UncheckedBearer, client_address
from checks.api.decode import decode_json, read_body
from checks.api.openapi import ENROLLED, ENROLMENT, PROBLEMS
from checks.api.permissions import PresentsToken
from checks.api.throttles import EnrolmentThrottle
from checks.services.enrolment import Enrolment, enrol_node
from checks.services.report_v1 import Name


class EnrolmentV1(Struct, forbid_unknown_fields=True, frozen=True):
    """What an agent sends to become a node's agent."""

    hostname: Annotated[str, Meta(max_length=253, pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\Z")]
    serials: Annotated[dict[Name, Annotated[str, Meta(max_length=128)]], Meta(max_length=256)]
    boot_id: Name
    agent_version: Annotated[str, Meta(min_length=1, max_length=32)]
    origin: Literal["live", "replay"] = "live"
    cluster: Annotated[str, Meta(max_length=63)] | None = None


class EnrollView(APIView):
    """Makes a machine a node; refuses a hostname that another machine holds."""

    authentication_classes = [UncheckedBearer]
    permission_classes = [PresentsToken]
    throttle_classes = [EnrolmentThrottle]

    @extend_schema(
        operation_id="enroll",
        request={"application/json": ENROLMENT},
        responses={(201, "application/json"): ENROLLED, **PROBLEMS},
    )
    def post(self, request: Request) -> HttpResponse:
        """Enrol the machine and answer with its token, which is shown this once."""
        sent = decode_json(read_body(request), EnrolmentV1)
        enrolled = enrol_node(
            bearer=str(request.auth),
            enrolment=Enrolment(**msgspec.structs.asdict(sent)),
            address=client_address(request),
            now=timezone.now(),
        )
        cluster, node = enrolled.cluster, enrolled.node
        answer = {
            "token": enrolled.token, "node_id": node.pk, "cluster": cluster.slug, "hostname": node.hostname,
            "interval": cluster.interval_s, "poll_after": cluster.poll_after_s,
        }  # fmt: skip
        response = HttpResponse(msgspec.json.encode(answer), status=HTTP_201_CREATED, content_type="application/json")
        response["Cache-Control"] = "no-store"
        return response
