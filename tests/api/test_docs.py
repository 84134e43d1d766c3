"""The API's documentation page holds what the OpenAPI document holds."""

import json
import re

from django.test import Client


def test_every_operation_of_the_document_is_on_the_page(client: Client) -> None:
    document = json.loads(client.get("/api/v1/schema?format=json").content)
    page = client.get("/api/v1/docs").content.decode()

    operations = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert set(re.findall(r"<h3[^>]*><code>([A-Z]+ [^<]+)</code>", page)) == operations


def test_anybody_may_read_it_and_nobody_may_post_to_it(client: Client) -> None:
    assert client.get("/api/v1/docs").status_code == 200
    assert client.post("/api/v1/docs").status_code == 405


def test_it_holds_no_script_of_its_own_and_names_no_other_site(client: Client) -> None:
    for address in ("/api/v1/docs", "/api/v1/docs/try"):
        page = client.get(address).content.decode()
        assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
        assert re.findall(r'(?:src|href)="https?://[^"]*', page) == []
