"""The gate for schedulers: JSON, HTTP 200 with a decision whatever it is. 401, 403, 404, 422 only for a wrong question.

Plain Django views: the API framework would cost as much as the whole answer.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import structlog
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from checks.api.gate_access import open_gate
from checks.api.gate_http import json_response
from checks.api.gate_question import read_node_question, read_question, read_run_question
from checks.api.problems import CONTENT_TYPE, WrongMethod, problem, problem_handler
from checks.selectors.cost_of_waiting import cost_at_gate
from checks.selectors.nodesets import fold_node_set
from checks.selectors.readiness import answer_in, answer_of_node

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]
_CANNOT_TELL = "The portal could not work out an answer and has logged why; take it as unknown."


def refusal_of(error: Exception) -> tuple[dict[str, Any], dict[str, str]]:
    """What to answer instead of a decision, and its headers. Every failure of the portal itself is a 503.

    Nothing that goes wrong here may look like *ready*, or like a page: an error that nobody foresaw is *unknown* too.
    """
    response = problem_handler(error, {})
    if response is None:
        log.error("gate.failed", exc_info=error)
        return problem(status=503, code="cannot_tell", detail=_CANNOT_TELL), {"Retry-After": "5"}
    return dict(response.data), dict(response.headers)


def answers_json(view: View) -> View:
    """Let *view* raise: its refusals become problems, and a portal that cannot tell says ``decision: unknown``."""

    @csrf_exempt
    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: str) -> HttpResponse:
        try:
            return view(request, **kwargs)
        except Exception as error:  # the gate fails closed, whatever it was
            body, headers = refusal_of(error)
            status = body["status"]
            unknown = {"decision": "unknown", "ready": False} if status >= 500 else {}
            response = JsonResponse(body | unknown, status=status, content_type=CONTENT_TYPE)
            response["Cache-Control"] = "no-store"
            return with_headers(response, headers)

    return guarded


@answers_json
def cluster_readiness(request: HttpRequest, cluster: str) -> HttpResponse:
    """May a job start on these nodes of the cluster, now?"""
    require_method(request, "GET", "HEAD", "POST")
    now = timezone.now()
    context = open_gate(request, cluster=cluster, now=now)
    asked = read_question(request)
    answer = answer_in(context, nodes=asked.hostnames, purpose=asked.purpose, run=asked.run, now=now)
    return json_response(request, answer.as_json(fold_node_set, cost_at_gate(context, answer)))


@answers_json
def node_readiness(request: HttpRequest, cluster: str, node: str) -> HttpResponse:
    """The same about one node, and whether a scheduler may drain it for what failed."""
    require_method(request, "GET", "HEAD")
    now = timezone.now()
    context = open_gate(request, cluster=cluster, node=node, now=now)
    asked = read_node_question(request, node)
    found = answer_of_node(context, node=node, purpose=asked.purpose, run=asked.run, now=now)
    body = found.answer.as_json(fold_node_set, cost_at_gate(context, found.answer))
    return json_response(request, body | {"drain_allowed": found.drain_allowed})


@answers_json
def run_readiness(request: HttpRequest, run: str) -> HttpResponse:
    """May this run start, or come back, now? Its name says which cluster is asked."""
    require_method(request, "GET", "HEAD", "POST")
    now = timezone.now()
    context = open_gate(request, run=run, now=now)
    asked = read_run_question(request)
    answer = answer_in(context, nodes=asked.hostnames, purpose=asked.purpose, run=run, now=now)
    return json_response(request, answer.as_json(fold_node_set, cost_at_gate(context, answer)))


@answers_json
def no_such_address(request: HttpRequest, **_: str) -> HttpResponse:
    """Anything else below ``/api/``: a program must not read a page where it expects JSON."""
    raise Http404


def require_method(request: HttpRequest, *allowed: str) -> None:
    """Raise ``WrongMethod`` unless the request came with one of the *allowed* methods."""
    if request.method not in allowed:
        raise WrongMethod(request.method or "", allowed)


def with_headers(response: HttpResponse, headers: Mapping[str, str]) -> HttpResponse:
    """*response* with what a refusal tells programs besides its body."""
    for name in headers.keys() & {"Allow", "Retry-After", "WWW-Authenticate"}:
        response[name] = headers[name]
    return response
