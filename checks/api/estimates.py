"""What a run costs, for programs: estimates frozen with their prices, and bills against them."""

from typing import Annotated, Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from msgspec import Meta, Struct
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_201_CREATED

from checks.api.authentication import token_of
from checks.api.decode import BadBody, decode_json, read_body
from checks.api.estimate_json import ESTIMATE, ESTIMATES, comparison_json, estimate_row_json
from checks.api.openapi import PROBLEMS
from checks.api.run_openapi import body_of
from checks.api.runs import OperatorView
from checks.domain.cost.wire import read_scenario
from checks.selectors.costs import estimate_of_token, estimates_of
from checks.selectors.run_rest import run_of_token
from checks.services.costs import estimate_run, import_actual


class EstimateOrder(Struct, forbid_unknown_fields=True, frozen=True):
    """A scenario to keep with the run, and to freeze by today's prices."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scenario: Annotated[
        dict[str, Any], Meta(description="gpus and days, and whatever differs from the defaults; GB are 1e9 bytes")
    ]
    provider: Annotated[str, Meta(description="whose price book")] = "aws"


class EstimatesView(OperatorView):
    """The estimates of a run."""

    @extend_schema(operation_id="estimates_list", tags=["costs"], responses={200: ESTIMATES, **PROBLEMS})
    def get(self, request: Request, run: str) -> Response:
        """Every frozen estimate, newest first, without its lines."""
        found = estimates_of(run_of_token(token_of(request), run))
        return Response({"estimates": [estimate_row_json(row) for row in found]})

    @extend_schema(
        operation_id="estimates_freeze", tags=["costs"], request=body_of(EstimateOrder),
        responses={201: ESTIMATE, **PROBLEMS},
    )  # fmt: skip
    def post(self, request: Request, run: str) -> Response:
        """Keep a scenario with the run and freeze what it costs; another price makes another estimate."""
        token, now = token_of(request), timezone.now()
        found, sent = run_of_token(token, run), decode_json(read_body(request), EstimateOrder)
        frozen = estimate_run(
            run=found, name=sent.name, scenario=read_scenario(sent.scenario), provider=sent.provider, by=None,
            token=token.key, now=now,
        )  # fmt: skip
        return Response(estimate_row_json(frozen) | {"estimate": frozen.document}, status=HTTP_201_CREATED)


class EstimateView(OperatorView):
    """One estimate."""

    @extend_schema(operation_id="estimates_read", tags=["costs"], responses={200: ESTIMATE, **PROBLEMS})
    def get(self, request: Request, number: int) -> Response:
        """Its lines with formula, inputs and prices, and how far the newest bill is from it."""
        row = estimate_of_token(token_of(request), number)
        told = estimate_row_json(row) | {"estimate": row.document, "scenario_inputs": row.scenario.inputs}
        return Response(told | comparison_json(row))


class ActualsView(OperatorView):
    """Bills against an estimate."""

    @extend_schema(
        operation_id="estimates_read_bill", tags=["costs"],
        parameters=[OpenApiParameter("file", str, description="name of the file")],
        request={"text/csv": {"type": "string"}}, responses={201: ESTIMATE, **PROBLEMS},
    )  # fmt: skip
    def post(self, request: Request, number: int) -> Response:
        """Read a bill in: an AWS Cost and Usage Report, or CSV with the columns cause, amount and currency."""
        token = token_of(request)
        row = estimate_of_token(token, number)
        try:
            text = read_body(request).decode()
        except UnicodeDecodeError as error:
            raise BadBody("The file is not UTF-8; export it again.") from error
        import_actual(
            frozen=row, text=text, file_name=request.query_params.get("file", ""), by=None, token=token.key,
            now=timezone.now(),
        )  # fmt: skip
        return Response(estimate_row_json(row) | comparison_json(row), status=HTTP_201_CREATED)
