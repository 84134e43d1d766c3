"""Shapes of the calls about runs for the OpenAPI document; what is sent is described by the very types that read it."""

from typing import Any, Final

import msgspec
from drf_spectacular.utils import OpenApiParameter

from checks.api.openapi import describe, shape
from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer
from checks.models import Stage

_STRING: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_COUNT: Final = {"type": "integer", "minimum": 1}
_TEXTS: Final = {"type": "array", "items": _STRING}
_OPEN: Final = {"type": "object"}
_NEXT: Final = {"type": ["string", "null"], "description": "address of the next page; null at the end"}
_LAYER: Final = {"type": "string", "enum": [layer.value for layer in Layer]}
_STATE: Final = {"type": "string", "enum": [state.value for state in SignState]}
_NODES: Final = {"type": "string", "description": "a node set"}


def body_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """What a call takes, as its decoder reads it."""
    return {"application/json": describe(kind)}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


PAGED: Final = [OpenApiParameter("before", int, description="From `next` of the page before.")]
RUN_FILTERS: Final = [
    *PAGED,
    OpenApiParameter("cluster", str, description="Runs of this cluster only."),
    OpenApiParameter("stage", str, enum=Stage.values, description="Runs in this stage only."),
]
RUN: Final = shape({
    "slug": _STRING, "name": _STRING, "cluster": _STRING, "owner": _STRING,
    "stage": {"type": "string", "enum": Stage.values}, "nodes": _NODES, "nodes_needed": _COUNT, "world_size": _COUNT,
    "layout": {**_OPEN, "additionalProperties": _COUNT}, "model_name": _STRING,
    "parameters": {"type": ["integer", "null"]},
    "bytes_per_parameter": {**_OPEN, "additionalProperties": {"type": "number"}}, "dataset": _STRING,
    "artefacts": _list(shape({"name": _STRING, "digest": _STRING})), "planned_start": _TIME, "planned_end": _TIME,
    "created_at": _TIME,
})  # fmt: skip
RUNS: Final = shape({"runs": _list(RUN), "next": _NEXT})
START: Final = shape({
    "run": _STRING, "kind": {"type": "string", "enum": ["start", "restart", "replacement"]}, "at": _TIME,
    "nodes": _NODES, "restart_until": _TIME,
    "basis": _list(shape({"layer": _LAYER, "digest": _STRING, "round": _COUNT})),
})  # fmt: skip
MANIFEST: Final = shape({
    "run": _STRING, "at": _TIME, "policy": {"type": "integer", "description": "0 is the default policy"},
    "layers": _list(shape({
        "layer": _LAYER, "digest": _STRING, "header": _OPEN, "shared": _STRING, "nodes": _list(_TEXTS),
        "state": _STATE, "signable": {"type": "boolean"}, "left_out": _NODES,
        "blockers": _list(shape(dict.fromkeys(("node", "item", "subject", "code", "detail"), _STRING))),
    })),
})  # fmt: skip
SIGNATURES: Final = shape({
    "run": _STRING, "at": _TIME, "signed": {"type": "boolean", "description": "whether every layer is"},
    "layers": _list(shape({
        "layer": _LAYER, "state": _STATE, "round": {"type": "integer"},
        "until": {"type": ["string", "null"], "format": "date-time"}, "missing_roles": _TEXTS,
        "outdated_nodes": _NODES,
        "signatures": _list(shape({
            "id": {"type": "integer"}, "role": _STRING, "name": _STRING, "meaning": _STRING, "comment": _STRING,
            "digest": _STRING, "round": _COUNT, "signed_at": _TIME,
            "expires_at": {"type": ["string", "null"], "format": "date-time"}, "counts": {"type": "boolean"},
            "why_not": {"type": ["string", "null"]}, "revoked": {"type": ["object", "null"]},
        })),
    })),
})  # fmt: skip
LEDGER: Final = shape({
    "entries": _list(shape({
        "seq": {"type": "integer"}, "at": _TIME, "who": _STRING, "what": _STRING, "target": _STRING,
        "reason": _STRING, "data": _OPEN, "digest": _STRING,
    })),
    "next": _NEXT,
})  # fmt: skip
