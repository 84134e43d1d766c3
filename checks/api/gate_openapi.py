"""The gate in the OpenAPI document: its views are plain Django, which the generator does not see."""

import json
from pathlib import Path
from typing import Any

from checks.api.gate_question import FIELDS

_ANSWER = json.loads((Path(__file__).parent / "schema" / "gate.v1.json").read_text(encoding="utf-8"))
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; for programs."},
        "detail": {"type": "string", "description": "One sentence that says what to do."},
        "decision": {"type": "string", "enum": ["unknown"], "description": "With 503 only."},
        "ready": {"type": "boolean", "enum": [False], "description": "With 503 only."},
    },
}
_REFUSALS = {
    "401": "The token is missing or not valid here.",
    "403": "The token may not ask this.",
    "404": "No such cluster or run for this token.",
    "422": "The question is wrong.",
    "503": "The portal cannot tell: take it as *unknown*.",
}
_TEXT_REFUSALS = _REFUSALS | {"409": "Not ready.", "503": "Cannot tell."}
_MEANING = {
    "nodes": (
        "A node set as Slurm writes it, e.g. `gpu[001-064,070]`. Absent: the run's pool, of which as many as the job "
        "needs have to be ready, or without a run every node of the cluster; empty: none."
    ),
    "purpose": "`health` (default without a run), `start` (default with one) or `restart`; both need a run.",
    "run": "The run that is to start, or to come back.",
}


def add_gate(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Hook of drf-spectacular: add the gate's paths and schemas to the finished document."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas |= {"GateAnswer": _ANSWER, "Problem": _PROBLEM}
    cluster, node = _path("cluster"), _path("node")
    of_node = [cluster, node, *_query("nodes")]
    result["paths"] |= {
        "/api/v1/clusters/{cluster}/readiness": {
            "get": _json("gate_read", "May a job start on these nodes, now?", [cluster, *_query()]),
            "post": _json("gate_ask", "The same for long lists.", [cluster]) | {"requestBody": _body()},
        },
        "/api/v1/clusters/{cluster}/nodes/{node}/readiness": {
            "get": _json(
                "gate_node_read", "One node, and whether it may be drained.", [cluster, node, *_query("nodes")]
            )
        },
        "/api/v1/runs/{run}/readiness": {
            "get": _json("gate_run_read", "May this run start, or come back, now?", [_path("run"), *_query("run")]),
            "post": _json("gate_run_ask", "The same for long lists.", [_path("run")]) | {"requestBody": _body("run")},
        },
        "/gate/{cluster}": {"get": _text("gate_text", "The cluster, for shells.", [cluster, *_query()])},
        "/gate/{cluster}/{node}": {"get": _text("gate_text_node", "One node, for shells.", of_node)},
    }
    return result


def _json(name: str, summary: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    answer = {"application/json": {"schema": {"$ref": "#/components/schemas/GateAnswer"}}}
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses: dict[str, Any] = {
        "200": {"description": "A decision, whatever it is.", "content": answer, "headers": _headers()},
        "304": {"description": "The answer of that ETag still holds.", "headers": _headers()},
    }
    responses |= {status: {"description": said, "content": problem} for status, said in _REFUSALS.items()}
    return _operation(name, summary, parameters, responses)


def _text(name: str, summary: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    content = {"text/plain": {"schema": {"type": "string"}}}
    said = {"200": "Ready."} | _TEXT_REFUSALS
    responses = {status: {"description": text, "content": content} for status, text in sorted(said.items())}
    return _operation(name, summary + " The first line is the decision.", parameters, responses)


def _operation(name: str, summary: str, parameters: list[dict[str, Any]], responses: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "tags": ["gate"],
        "summary": summary,
        "description": "Needs a token with the scope `gate:read`, bound to the cluster.",
        "security": [{"bearer": []}],
        "parameters": parameters,
        "responses": responses,
    }


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query(*without: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "description": _MEANING[name], "schema": _field(name)}
        for name in FIELDS
        if name not in without
    ]


def _body(*without: str) -> dict[str, Any]:
    names = [name for name in FIELDS if name not in without]
    properties = {name: _field(name) | {"description": _MEANING[name]} for name in names}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _field(name: str) -> dict[str, Any]:
    return {"type": "string", "enum": ["health", "start", "restart"]} if name == "purpose" else {"type": "string"}


def _headers() -> dict[str, Any]:
    seconds = {"type": "integer", "minimum": 0, "maximum": 300}
    return {
        "ETag": {"schema": {"type": "string"}},
        "Gate-TTL": {"description": "Seconds for which the answer may be used.", "schema": seconds},
    }
