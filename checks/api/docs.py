"""The API's documentation: a page made from the OpenAPI document, and Swagger UI to try it out.

Both work without any network but the portal's. The page needs no script. Swagger UI's page and script are two answers,
because the content security policy allows no script inside a page.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny


class TryItOutView(SpectacularSwaggerSplitView):
    """Swagger UI. Public, like the document that it shows; a token typed into it stays in that tab."""

    permission_classes = [AllowAny]
    authentication_classes = []
    title = "Countersign API"


@dataclass(frozen=True, slots=True)
class Operation:
    """One call as the page shows it; *request* and each answer's *shape* are JSON schemas as text, empty for none."""

    name: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Mapping[str, Any], ...]
    request: str
    answers: tuple["Answer", ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One status of an operation. *named* is a schema that stands further down the page."""

    status: str
    meaning: str
    media: str
    named: str
    shape: str


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Every call, its parameters and its answers. Public, like the document."""
    return render(request, "api/docs.html", {"groups": _groups(), "schemas": _schemas(), "info": _document()["info"]})


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    """The OpenAPI document; it cannot change while the process runs."""
    document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return document


def _groups() -> dict[str, list[Operation]]:
    """Operations by tag, the gate first: most readers come for it."""
    groups: dict[str, list[Operation]] = {"gate": []}
    for path, methods in _document()["paths"].items():
        for method, described in methods.items():
            groups.setdefault(described["tags"][0], []).append(_operation(method, path, described))
    return groups


def _schemas() -> dict[str, str]:
    return {name: _text(schema) for name, schema in _document()["components"]["schemas"].items()}


def _operation(method: str, path: str, described: Mapping[str, Any]) -> Operation:
    bodies: dict[str, dict[str, Any]] = described.get("requestBody", {}).get("content", {})
    sent = [body["schema"] for body in bodies.values()]
    said = described.get("description", "")
    return Operation(
        name=described["operationId"],
        method=method.upper(),
        path=path,
        summary=described.get("summary") or said,
        description=said if described.get("summary") else "",
        parameters=tuple(described.get("parameters", ())),
        request=_text(sent[0]) if sent else "",
        answers=tuple(_answers(described["responses"])),
    )


def _answers(responses: Mapping[str, Any]) -> Iterator[Answer]:
    for status, described in responses.items():
        contents: dict[str, dict[str, Any]] = described.get("content", {})
        media = next(iter(contents), "")
        schema = contents.get(media, {}).get("schema", {})
        named = str(schema.get("$ref", "")).rpartition("/")[2]
        is_problem = media == "application/problem+json"
        shape = "" if named or is_problem or len(schema) < 2 else _text(schema)
        yield Answer(status, described.get("description", ""), media, "Problem" if is_problem else named, shape)


def _text(schema: Any) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False)
