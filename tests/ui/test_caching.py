"""No answer to a person is kept on the way, whatever its address: all addresses of the site are walked."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from portal.accounts.models import User
from portal.programs import PATHS
from tests.fleet import Fleet
from tests.ui.conftest import Sight

# What stands for each part of an address; whatever is not named here is one that nothing has.
PARTS = {"slug": "helios", "hostname": "gpu-001", "item": "gpu-pcie-width", "key": "retire", "app_label": "checks"}
# An address of several names, and one of them.
WRITTEN_OUT = {
    r"^accounts/(?:email|confirm-email|password/reset|login/code|reauthenticate/code)(?:/.*)?$": "accounts/email/",
    r"^accounts/(?:3rdparty/(?!login/)|social/)": "accounts/social/",
}


def _routes(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _routes(entry, route)
        elif isinstance(entry, URLPattern):
            yield route


def _address(route: str) -> str:
    """The route with every part filled in."""
    plain = WRITTEN_OUT.get(route, route).replace("^", "").removesuffix("$").replace("(?:/.*)?", "")
    named = re.sub(r"\(\?P<(\w+)>[^()]*\)", lambda part: PARTS.get(part[1], "1"), plain)
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda part: PARTS.get(part[1], "1"), named)


def _walked() -> list[str]:
    return [address for route in _routes(get_resolver()) if not (address := _address(route)).startswith(PATHS)]


def test_every_address_of_the_site_can_be_walked() -> None:
    walked = _walked()
    assert len(walked) > 50
    assert not [address for address in walked if set(address) & set("^$(?<")]
    assert {"/", "/clusters/helios/nodes.csv", "/clusters/helios/nodes/gpu-001/", "/accounts/password/change/"} < {
        *walked
    }


@pytest.mark.parametrize("whose", ["a person's", "a stranger's"])
def test_no_answer_of_any_address_may_be_stored(fleet: Fleet, whose: str) -> None:
    client = Client()
    kept = {}
    for address in _walked():
        if whose == "a person's":
            client.force_login(User.objects.filter(username="root").first() or User.objects.create_superuser("root"))
        said = client.get(address).headers.get("Cache-Control", "")
        if not {"private", "no-store"} <= {part.strip() for part in said.split(",")}:
            kept[address] = said
    assert not kept


def test_the_export_is_not_stored_and_style_sheets_are(sight: Sight) -> None:
    assert sight.client.get("/clusters/helios/nodes.csv").headers["Cache-Control"] == "private, no-store"
    sheet = sight.client.get("/static/css/base.css")
    sheet.close()
    assert sheet.status_code == 200
    assert "no-store" not in sheet.headers.get("Cache-Control", "")
