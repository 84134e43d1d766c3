"""``GET /api/v1/agent/plan``: what the node should measure. Nearly always a 304."""

import msgspec
from django.http import HttpResponse, HttpResponseNotModified
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from checks.api.authentication import BearerToken, token_of
from checks.api.openapi import PLAN, PROBLEMS
from checks.api.permissions import HasScope
from checks.api.throttles import AgentThrottle
from checks.services.plans import plan_for_agent


class PlanView(APIView):
    """The plan of the node that the token belongs to."""

    authentication_classes = [BearerToken]
    permission_classes = [HasScope]
    required_scope = "agent:write"
    throttle_classes = [AgentThrottle]

    @extend_schema(
        operation_id="agent_plan",
        parameters=[OpenApiParameter("If-None-Match", str, "header", description="ETag of the plan that is held.")],
        responses={200: PLAN, (304, "application/json"): None, **PROBLEMS},
    )
    def get(self, request: Request) -> HttpResponse:
        """The plan, or 304 when the node holds it already."""
        tagged = plan_for_agent(token=token_of(request), now=timezone.now())
        held = request.META.get("HTTP_IF_NONE_MATCH", "")
        if tagged.etag in (tag.strip().removeprefix("W/").strip('"') for tag in held.split(",")):
            response: HttpResponse = HttpResponseNotModified()
        else:
            response = HttpResponse(msgspec.json.encode(tagged.plan), content_type="application/json")
        response["ETag"] = f'"{tagged.etag}"'
        response["Cache-Control"] = "private, no-cache"
        return response
