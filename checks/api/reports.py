"""``POST /api/v1/reports``: one push of facts from one node."""

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotAuthenticated, Throttled
from rest_framework.status import HTTP_202_ACCEPTED
from rest_framework.views import APIView

from checks.api.authentication import UncheckedBearer, bearer_text, client_address
from checks.api.decode import decode_age, decode_report, encoding_of, read_body
from checks.api.openapi import PROBLEMS, RECEIPT, REPORT
from checks.api.permissions import PresentsToken
from checks.api.problems import WrongMethod, refusal
from checks.api.throttles import AgentThrottle
from checks.services.reports import record_report


class ReportView(APIView):
    """Takes a report as JSON, gzip or plain; the same report twice is one report."""

    authentication_classes = [UncheckedBearer]
    permission_classes = [PresentsToken]
    throttle_classes = [AgentThrottle]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Straight to ``post``: the framework's own request would cost more than decoding the report."""
        try:
            if request.method != "POST":
                raise WrongMethod(request.method or "", ["POST"])
            return self.post(request)
        except Exception as error:
            response = refusal(error)
            if response is None:
                raise
            return response

    @extend_schema(
        operation_id="record_report",
        parameters=[OpenApiParameter("Report-Age", float, "header", description="Seconds since it was written.")],
        request={"application/json": REPORT},
        responses={202: RECEIPT, **PROBLEMS},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the report, judge it, answer with the verdicts."""
        bearer = bearer_text(request)
        if bearer is None:
            raise NotAuthenticated
        throttle = AgentThrottle()
        if not throttle.allow_request(request, self):
            raise Throttled(throttle.wait())
        receipt = record_report(
            bearer=bearer,
            report=decode_report(read_body(request), encoding=encoding_of(request)),
            age_s=decode_age(request.META.get("HTTP_REPORT_AGE")),
            address=client_address(request),
            received_at=timezone.now(),
        )
        return HttpResponse(msgspec.json.encode(receipt), status=HTTP_202_ACCEPTED, content_type="application/json")
