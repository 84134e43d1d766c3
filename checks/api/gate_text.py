"""The gate for shells: 200 ready, 409 not ready, 503 cannot tell; never HTML, never a redirect, whatever happens."""

from functools import wraps

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from checks.api.gate import View, refusal_of, require_method, with_headers
from checks.api.gate_access import open_gate
from checks.api.gate_http import text_refusal, text_response
from checks.api.gate_question import read_node_question, read_question
from checks.selectors.cost_of_waiting import cost_at_gate
from checks.selectors.nodesets import fold_node_set
from checks.selectors.readiness import answer_in, answer_of_node


def answers_text(view: View) -> View:
    """Let *view* raise: what it raises becomes plain text that begins with ``unknown``."""

    @csrf_exempt  # the check would answer a POST with a page
    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: str) -> HttpResponse:
        try:
            return view(request, **kwargs)
        except Exception as error:  # the gate fails closed, whatever it was
            body, headers = refusal_of(error)
            response = text_refusal(status=body["status"], code=body["code"], detail=body["detail"])
            return with_headers(response, headers)

    return guarded


@answers_text
def cluster_text(request: HttpRequest, cluster: str) -> HttpResponse:
    """The cluster, or the nodes named by ``nodes``."""
    require_method(request, "GET", "HEAD")
    now = timezone.now()
    context = open_gate(request, cluster=cluster, now=now)
    asked = read_question(request)
    answer = answer_in(context, nodes=asked.hostnames, purpose=asked.purpose, run=asked.run, now=now)
    return text_response(answer.as_json(fold_node_set, cost_at_gate(context, answer)))


@answers_text
def node_text(request: HttpRequest, cluster: str, node: str) -> HttpResponse:
    """One node."""
    require_method(request, "GET", "HEAD")
    now = timezone.now()
    context = open_gate(request, cluster=cluster, node=node, now=now)
    asked = read_node_question(request, node)
    found = answer_of_node(context, node=node, purpose=asked.purpose, run=asked.run, now=now)
    return text_response(found.answer.as_json(fold_node_set, cost_at_gate(context, found.answer)))


@answers_text
def no_such_address(request: HttpRequest, **_: str) -> HttpResponse:
    """Anything else below ``/gate/``: a shell must not read a page where it expects a decision."""
    raise Http404
