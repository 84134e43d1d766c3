"""A scheduler tells that a run started, came back, or goes on with another node; each is checked by the gate first."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_201_CREATED

from checks.api.authentication import token_of
from checks.api.decode import decode_json, read_body
from checks.api.openapi import PROBLEMS
from checks.api.run_bodies import Replacement, RestartNote, StartNote
from checks.api.run_json import start_json
from checks.api.run_openapi import START, body_of
from checks.api.runs import OperatorView
from checks.selectors.run_rest import run_of_token
from checks.services.starts import note_restart, note_start, replace_node


class StartedView(OperatorView):
    """The run has started."""

    @extend_schema(
        operation_id="runs_started", tags=["runs"], request=body_of(StartNote), responses={201: START, **PROBLEMS}
    )
    def post(self, request: Request, run: str) -> Response:
        """Note the start, and freeze what restarts are asked against; 409 ``not_ready`` where the gate is closed."""
        token, sent = token_of(request), decode_json(read_body(request), StartNote)
        found = run_of_token(token, run)
        noted = note_start(run=found, nodes=sent.nodes, by=None, token=token.key, now=timezone.now())
        return Response(start_json(noted), status=HTTP_201_CREATED)


class RestartedView(OperatorView):
    """The run has come back."""

    @extend_schema(
        operation_id="runs_restarted", tags=["runs"], request=body_of(RestartNote), responses={201: START, **PROBLEMS}
    )
    def post(self, request: Request, run: str) -> Response:
        """Note a restart after an interruption; no signature is asked for."""
        token, sent = token_of(request), decode_json(read_body(request), RestartNote)
        found = run_of_token(token, run)
        noted = note_restart(
            run=found, nodes=sent.nodes, by=None, reason=sent.reason, token=token.key, now=timezone.now()
        )
        return Response(start_json(noted), status=HTTP_201_CREATED)


class ReplaceView(OperatorView):
    """A node of the pool takes another one's place."""

    @extend_schema(
        operation_id="runs_replace", tags=["runs"], request=body_of(Replacement), responses={201: START, **PROBLEMS}
    )
    def post(self, request: Request, run: str) -> Response:
        """Let a spare of the pool take the place of a node; no signature is asked for."""
        token, sent = token_of(request), decode_json(read_body(request), Replacement)
        found = run_of_token(token, run)
        noted = replace_node(
            run=found, old=sent.old, new=sent.new, by=None, reason=sent.reason, token=token.key, now=timezone.now()
        )
        return Response(start_json(noted), status=HTTP_201_CREATED)
