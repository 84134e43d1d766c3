"""``ready-nodes`` in the OpenAPI document, with the gate's own refusals and headers."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from checks.selectors.nodesets import MAX_NODES

_ANSWER: Final = json.loads((Path(__file__).parent / "schema" / "ready-nodes.v1.json").read_text(encoding="utf-8"))
_GATE: Final = "/api/v1/clusters/{cluster}/readiness"
_COUNT: Final = {
    "name": "count", "in": "query", "required": True, "description": "How many nodes are wanted.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_NODES},
}  # fmt: skip
_PREFER: Final = {
    "name": "prefer", "in": "query", "description": "What matters besides: as few switches as possible, always.",
    "schema": {"type": "string", "enum": ["same-switch"], "default": "same-switch"},
}  # fmt: skip
_RUN: Final = {
    "name": "run", "in": "query", "schema": {"type": "string"},
    "description": "Only nodes of this run's pool on which it may start now; absent: any healthy node of the cluster.",
}  # fmt: skip


def add_ready_nodes(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Hook of drf-spectacular, after the gate's: the same operation, another question and answer."""
    result["components"]["schemas"]["ReadyNodes"] = _ANSWER
    operation = deepcopy(result["paths"][_GATE]["get"])
    operation |= {
        "operationId": "ready_nodes_read",
        "summary": "Which ready nodes could a job take, on as few switches as possible?",
        "parameters": [operation["parameters"][0], _COUNT, _PREFER, _RUN],
    }
    operation["responses"]["200"]["content"]["application/json"]["schema"] = {"$ref": "#/components/schemas/ReadyNodes"}
    result["paths"]["/api/v1/clusters/{cluster}/ready-nodes"] = {"get": operation}
    return result
