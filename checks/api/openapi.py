"""Shapes of the agent's calls for the OpenAPI document. The report's own is the schema file that both sides test."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec
from drf_spectacular.extensions import OpenApiAuthenticationExtension

_STRING: Final = {"type": "string"}
_STRINGS: Final = {"type": "array", "items": _STRING}
_SECONDS: Final = {"type": "integer", "description": "seconds"}


def shape(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """The schema of an object with these properties."""
    return {"type": "object", "required": list(required), "properties": required | optional}


def _inline(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema without ``$defs``: the OpenAPI document has no place for references of its own."""
    if isinstance(schema, list):
        return [_inline(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    return {key: _inline(part, definitions) for key, part in schema.items() if key not in ("$defs", "$schema", "$id")}


def describe(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a body as its decoder reads it."""
    (described,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return dict(_inline(described, definitions))


def _from_file(name: str) -> dict[str, Any]:
    schema = json.loads((Path(__file__).parent / "schema" / name).read_text(encoding="utf-8"))
    return dict(_inline(schema, schema["$defs"]))


REPORT: Final = _from_file("report.v1.json")
RUN_EVIDENCE: Final = _from_file("run-evidence.v1.json")
PROBLEM: Final = shape(
    {"type": _STRING, "title": _STRING, "status": {"type": "integer"}, "code": _STRING, "detail": _STRING}
)
PROBLEMS: Final = {
    (status, "application/problem+json"): PROBLEM for status in (400, 401, 403, 409, 413, 415, 422, 429, 503)
}
VERDICT: Final = shape(
    {"item": _STRING, "subject": _STRING, "verdict": _STRING, "severity": _STRING, "reason": _STRING, "detail": _STRING}
)
RECEIPT: Final = shape(
    {
        "report_id": {"type": "string", "format": "uuid"},
        "accepted": {"type": "boolean"},
        "duplicate": {"type": "boolean"},
        "verdicts": {"type": "array", "items": VERDICT},
        "plan_etag": _STRING,
        "poll_after": _SECONDS,
        "retry_after": _SECONDS,
        "recheck": _STRINGS,
        "observed": {**_STRINGS, "description": "items and subjects that no rule knows; kept, not judged"},
        "trouble": {**_STRING, "description": "why this machine's evidence is not believed; empty = it is"},
    }
)
EVIDENCE_RECEIPT: Final = shape(
    {
        "evidence_id": {"type": "string", "format": "uuid"},
        "accepted": {"type": "boolean"},
        "duplicate": {"type": "boolean"},
        "verdicts": {"type": "array", "items": VERDICT},
    }
)
ENROLMENT: Final = shape(
    {
        "hostname": _STRING,
        "serials": {"type": "object", "additionalProperties": _STRING},
        "boot_id": _STRING,
        "agent_version": _STRING,
        "origin": {"enum": ["live", "replay"]},
    },
    cluster={"type": ["string", "null"]},
)
ENROLLED: Final = shape(
    {
        "token": {**_STRING, "description": "shown once"},
        "node_id": {"type": "string", "format": "uuid"},
        "cluster": _STRING,
        "hostname": _STRING,
        "interval": _SECONDS,
        "poll_after": _SECONDS,
    }
)
PLAN: Final = shape(
    {
        "schemas": {"type": "array", "items": {"type": "integer"}},
        "interval": _SECONDS,
        "poll_after": _SECONDS,
        "tick": _STRINGS,
        "daily": _STRINGS,
        "offline": _STRINGS,
        "recheck": {"type": "array", "items": shape({"id": {"type": "integer"}, "items": _STRINGS})},
        "allow": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "settings": {"type": "array", "items": shape({"item": _STRING, "name": _STRING})},
        "fingerprint": {**_SECONDS, "description": "seconds between two readings of all settings"},
    }
)
FINGERPRINT_ANSWER: Final = shape(
    {"wanted": {"type": "boolean", "description": "whether these settings are not known here and have to be sent, too"}}
)


class BearerScheme(OpenApiAuthenticationExtension):
    """How the document names our tokens; registered by being defined."""

    target_class = "checks.api.authentication.BearerToken"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "cs_<kind>_<key>_<secret>"}


class UncheckedBearerScheme(BearerScheme):
    """The same token, where the service checks it."""

    target_class = "checks.api.authentication.UncheckedBearer"
    name = "node_bearer"
