"""The OpenAPI document: valid, public, and with the gate in it."""

import json
from typing import Any

import pytest
from django.test import Client
from openapi_spec_validator import validate


@pytest.fixture
def document(client: Client) -> dict[str, Any]:
    """What anybody who asks for it gets."""
    answer = client.get("/api/v1/schema?format=json")
    assert answer.status_code == 200
    return json.loads(answer.content)


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_the_gate_and_the_agents_addresses_are_in_it(document: dict[str, Any]) -> None:
    assert {
        "/api/v1/clusters/{cluster}/readiness",
        "/api/v1/clusters/{cluster}/nodes/{node}/readiness",
        "/gate/{cluster}",
        "/api/v1/reports",
        "/api/v1/enroll",
        "/api/v1/agent/fingerprint",
        "/api/v1/agent/plan",
        "/api/v1/nodes/{hostname}/link-trials",
        "/api/v1/nodes/{hostname}/link-trials/{trial}",
    } <= document["paths"].keys()


def test_an_answers_schema_names_its_three_decisions(document: dict[str, Any]) -> None:
    answer = document["components"]["schemas"]["GateAnswer"]

    assert answer["properties"]["decision"]["enum"] == ["ready", "not_ready", "unknown"]
