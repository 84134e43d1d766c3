"""``GET …/ready-nodes?count=64&prefer=same-switch``: nodes that a job could take now, over the fewest switches."""

from typing import Annotated, Literal

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from checks.api.gate import answers_json, require_method
from checks.api.gate_access import open_gate
from checks.api.gate_http import json_response
from checks.api.gate_question import BadQuestion, query_fields
from checks.selectors.nodesets import MAX_NODES, fold_node_set
from checks.selectors.ready_nodes import find_ready_nodes


class Wish(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How many nodes are wanted, for which run, and what matters besides their being ready."""

    count: Annotated[int, msgspec.Meta(ge=1, le=MAX_NODES)]
    prefer: Literal["same-switch"] = "same-switch"
    run: str | None = None


@answers_json
def ready_nodes(request: HttpRequest, cluster: str) -> HttpResponse:
    """A host list of ready nodes, or the best it can and why."""
    require_method(request, "GET", "HEAD")
    now = timezone.now()
    context = open_gate(request, cluster=cluster, now=now)
    wish = read_wish(request)
    found = find_ready_nodes(context, count=wish.count, run=wish.run, now=now)
    return json_response(request, found.as_json(fold_node_set))


def read_wish(request: HttpRequest) -> Wish:
    """What the query string asks for.

    Raises:
        BadQuestion: ``count`` is missing or no number of nodes, or a field is unknown or repeated.
    """
    try:
        return msgspec.convert(query_fields(request), Wish, strict=False)
    except msgspec.ValidationError as error:
        raise BadQuestion(f"{error}; ask for example ?count=64&prefer=same-switch.") from error
