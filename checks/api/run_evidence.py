"""``POST /api/v1/runs/<run>/evidence``: what an audit found about a run."""

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.status import HTTP_202_ACCEPTED
from rest_framework.views import APIView

from checks.api.authentication import BearerToken, token_of
from checks.api.decode import decode_age, decode_run_evidence, encoding_of, read_body
from checks.api.openapi import EVIDENCE_RECEIPT, PROBLEMS, RUN_EVIDENCE
from checks.api.permissions import HasAnyScope
from checks.api.throttles import AgentThrottle
from checks.selectors.run_rest import run_for_evidence
from checks.services.run_evidence import record_run_evidence


class RunEvidenceView(APIView):
    """Takes what an audit found; the same evidence twice is one piece of evidence."""

    authentication_classes = [BearerToken]
    permission_classes = [HasAnyScope]
    required_scopes = ("operator", "agent:write")
    throttle_classes = [AgentThrottle]

    @extend_schema(
        operation_id="runs_record_evidence",
        tags=["runs"],
        parameters=[OpenApiParameter("Report-Age", float, "header", description="Seconds since it was measured.")],
        request={"application/json": RUN_EVIDENCE},
        responses={202: EVIDENCE_RECEIPT, **PROBLEMS},
    )
    def post(self, request: Request, run: str) -> HttpResponse:
        """Store it, judge what it covers, answer with the verdicts; with an operator's token or a node's own."""
        token = token_of(request)
        receipt = record_run_evidence(
            run=run_for_evidence(token, run),
            token=token,
            evidence=decode_run_evidence(read_body(request), encoding=encoding_of(request)),
            age_s=decode_age(request.META.get("HTTP_REPORT_AGE")),
            received_at=timezone.now(),
        )
        return HttpResponse(msgspec.json.encode(receipt), status=HTTP_202_ACCEPTED, content_type="application/json")
