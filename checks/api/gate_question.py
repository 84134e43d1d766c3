"""What is asked of the gate: the same three fields in a query string and in a JSON body."""

import re
from typing import Any

import msgspec
from django.http import HttpRequest

from checks.api.decode import read_body
from checks.domain.errors import CountersignError
from checks.domain.verdicts import Purpose
from checks.selectors.nodesets import parse_node_set

FIELDS = ("nodes", "purpose", "run")
_HOSTNAME = re.compile(r"[A-Za-z0-9._-]{1,253}")


class BadQuestion(CountersignError):
    """The question is not one that the gate understands."""

    code = "bad_question"


class GateQuestion(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """*nodes* is a node set as Slurm writes it; absent, the run's pool is asked about, or without a run the whole
    cluster; empty, no node at all.
    """

    nodes: str | None = None
    purpose: Purpose | None = None
    run: str | None = None

    @property
    def hostnames(self) -> tuple[str, ...] | None:
        """The nodes by name; None for the run's pool, or the whole cluster."""
        return None if self.nodes is None else parse_node_set(self.nodes)


def read_question(request: HttpRequest) -> GateQuestion:
    """The question of a GET (query string) or POST (JSON body).

    Raises:
        BadQuestion: a field is unknown, repeated, or of the wrong kind.
    """
    fields = _from_body(read_body(request)) if request.method == "POST" else query_fields(request)
    try:
        return msgspec.convert(fields, GateQuestion)
    except msgspec.ValidationError as error:
        raise BadQuestion(f"{error}; the gate knows the fields {', '.join(FIELDS)}.") from error


def read_node_question(request: HttpRequest, node: str) -> GateQuestion:
    """The question about *node*, which stands in the address.

    Raises:
        BadQuestion: as ``read_question``; or *node* is no host name, or other nodes are named besides.
    """
    if not _HOSTNAME.fullmatch(node):
        raise BadQuestion(f"{node[:80]!r} is no host name; ask about one such as gpu001.")
    asked = read_question(request)
    if asked.nodes is not None:
        raise BadQuestion("The address names a node already; leave out nodes.")
    return asked


def read_run_question(request: HttpRequest) -> GateQuestion:
    """The question about a run that stands in the address.

    Raises:
        BadQuestion: as ``read_question``; or another run is named besides.
    """
    asked = read_question(request)
    if asked.run is not None:
        raise BadQuestion("The address names a run already; leave out run.")
    return asked


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
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadQuestion('The body is no JSON object; send for example {"nodes": "gpu[001-064]"}.') from error
