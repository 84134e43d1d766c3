"""``POST /api/v1/evidence/<tool>``: what a tool that people already run printed about a node."""

from datetime import datetime
from typing import Final

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.status import HTTP_202_ACCEPTED
from rest_framework.views import APIView

from checks.api.authentication import BearerToken, token_of
from checks.api.decode import decode_text, encoding_of, read_body
from checks.api.openapi import PROBLEMS, describe
from checks.api.permissions import HasAnyScope
from checks.api.throttles import AgentThrottle
from checks.selectors.tool_nodes import node_for_evidence
from checks.services.tool_evidence import BadMoment, Sender, ToolOutput, ToolReceipt, record_tool_evidence

TOOL_RECEIPT: Final = describe(ToolReceipt)
_TEXT: Final = {"type": "string", "description": "the tool's output as it printed it, plain or gzip"}


class ToolEvidenceView(APIView):
    """Takes one output of one tool; the same output of the same time is one piece of evidence."""

    authentication_classes = [BearerToken]
    permission_classes = [HasAnyScope]
    required_scopes = ("operator", "agent:write")
    throttle_classes = [AgentThrottle]

    @extend_schema(
        operation_id="record_tool_evidence",
        tags=["nodes"],
        parameters=[
            OpenApiParameter("node", str, description="Host name; an agent's token may leave it out."),
            OpenApiParameter("cluster", str, description="Where several clusters of the token have that host name."),
            OpenApiParameter("measured_at", datetime, description="When the tool ran, where its output does not say."),
        ],
        request={("text/plain"): _TEXT, "application/json": _TEXT, "application/octet-stream": _TEXT},
        responses={(202, "application/json"): TOOL_RECEIPT, **PROBLEMS},
    )
    def post(self, request: Request, tool: str) -> HttpResponse:
        """Read it, judge what it says, answer with what was taken, what was not, and why."""
        token, asked = token_of(request), request.GET
        output = ToolOutput(
            tool,
            decode_text(read_body(request), encoding=encoding_of(request)),
            moment_of(asked.get("measured_at", "")),
        )
        receipt = record_tool_evidence(
            node=node_for_evidence(token, asked.get("node", ""), asked.get("cluster", "")),
            output=output,
            sender=Sender(token=token),
            now=timezone.now(),
        )
        return HttpResponse(msgspec.json.encode(receipt), status=HTTP_202_ACCEPTED, content_type="application/json")


def moment_of(text: str) -> datetime | None:
    """RFC 3339 as it stands in an address, where a plus sign arrives as a space; None where there is none.

    Raises:
        BadMoment: no such time, or one without a zone.
    """
    if not text.strip():
        return None
    try:
        moment = parse_datetime(text.strip().replace(" ", "+") if "T" in text else text.strip())
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadMoment(f"measured_at is {text[:40]!r}; write it as 2026-11-30T12:00:00Z, with a time zone.")
    return moment
