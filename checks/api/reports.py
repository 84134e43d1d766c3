"""``POST /api/v1/reports``: one push of facts from one node."""

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.status import HTTP_202_ACCEPTED
from rest_framework.views import APIView

from checks.api.authentication import UncheckedBearer, client_address
from checks.api.decode import decode_age, decode_report, encoding_of, read_body
from checks.api.openapi import PROBLEMS, RECEIPT, REPORT
from checks.api.permissions import PresentsToken
from checks.api.throttles import AgentThrottle
from checks.services.reports import record_report


class ReportView(APIView):
    """Takes a report as JSON, gzip or plain; the same report twice is one report."""

    authentication_classes = [UncheckedBearer]
    permission_classes = [PresentsToken]
    throttle_classes = [AgentThrottle]

    @extend_schema(
        operation_id="record_report",
        parameters=[OpenApiParameter("Report-Age", float, "header", description="Seconds since it was written.")],
        request={"application/json": REPORT},
        responses={202: RECEIPT, **PROBLEMS},
    )
    def post(self, request: Request) -> HttpResponse:
        """Store the report, judge it, answer with the verdicts."""
        report = decode_report(read_body(request), encoding=encoding_of(request))
        receipt = record_report(
            bearer=str(request.auth),
            report=report,
            age_s=decode_age(request.META.get("HTTP_REPORT_AGE")),
            address=client_address(request),
            received_at=timezone.now(),
        )
        return HttpResponse(msgspec.json.encode(receipt), status=HTTP_202_ACCEPTED, content_type="application/json")
