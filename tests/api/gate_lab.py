"""How the tests of the gate ask: one cluster, at noon, with a token bound to it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
from django.test import Client

from checks.models import Cluster, TokenKind
from tests.lab import bearer

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "checks/api/schema/gate.v1.json").read_text())


class Gate:
    """Asks about one cluster with a token bound to it."""

    def __init__(self, client: Client, cluster: Cluster) -> None:
        self.client = client
        self.address = f"/api/v1/clusters/{cluster.slug}/readiness"
        self.headers = bearer(TokenKind.GATE, cluster)

    def get(self, *, etag: str = "", **fields: str) -> Any:
        headers = self.headers | ({"If-None-Match": etag} if etag else {})
        return self.client.get(self.address, fields, headers=headers)

    def ask(self, **fields: str) -> dict[str, Any]:
        """The answer's body, which must be what the schema says."""
        response = self.get(**fields)
        assert response.status_code == 200, response.content
        body: dict[str, Any] = response.json()
        jsonschema.validate(body, SCHEMA)
        return body


def codes(body: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in body["reasons"]]
