"""What is asked of the gate: the same three fields in a query string and in a JSON body."""

import json
from typing import Any

import msgspec
from django.http import HttpRequest

from checks.domain.errors import CountersignError
from checks.domain.verdicts import Purpose
from checks.selectors.nodesets import parse_node_set

FIELDS = ("nodes", "purpose", "run")


class BadQuestion(CountersignError):
    """The question is not one that the gate understands."""

    code = "bad_question"


class GateQuestion(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """*nodes* is a node set as Slurm writes it; absent, the whole cluster is asked about, and empty, no node at all."""

    nodes: str | None = None
    purpose: Purpose | None = None
    run: str | None = None

    @property
    def hostnames(self) -> tuple[str, ...] | None:
        """The nodes by name; None for the whole cluster."""
        return None if self.nodes is None else parse_node_set(self.nodes)


def read_question(request: HttpRequest) -> GateQuestion:
    """The question of a GET (query string) or POST (JSON body).

    Raises:
        BadQuestion: a field is unknown, repeated, or of the wrong kind.
    """
    fields = _from_body(request.body) if request.method == "POST" else query_fields(request)
    try:
        return msgspec.convert(fields, GateQuestion)
    except msgspec.ValidationError as error:
        raise BadQuestion(f"{error}; the gate knows the fields {', '.join(FIELDS)}.") from error


def query_fields(request: HttpRequest) -> dict[str, str]:
    """The fields of the query string.

    Raises:
        BadQuestion: one is given more than once.
    """
    repeated = sorted(name for name, values in request.GET.lists() if len(values) > 1)
    if repeated:
        raise BadQuestion(f"{', '.join(repeated)} is given more than once; give each field once.")
    return request.GET.dict()


def _from_body(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadQuestion('The body is no JSON object; send for example {"nodes": "gpu[001-064]"}.') from error
