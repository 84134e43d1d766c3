"""Polling: 204 while nothing changed, the live part when something did, and nothing a strict policy would stop."""

import re
from datetime import datetime

from django.test import Client

from tests.fleet import Fleet
from tests.ui.conftest import Sight

LIVE_PAGES = (
    "/",
    "/clusters/",
    "/clusters/helios/",
    "/clusters/helios/nodes/gpu-003/",
    "/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/",
    "/clusters/helios/items/gpu-pcie-width/",
    "/status",
)


def _poll(client: Client, page: str) -> str:
    address = re.search(r'hx-get="([^"]+)"', page)
    assert address
    return address[1].replace("&amp;", "&")


def test_a_poll_is_answered_204_while_nothing_changed(sight: Sight) -> None:
    for path in LIVE_PAGES:
        address = _poll(sight.client, sight.text(path))
        response = sight.client.get(address, headers={"HX-Request": "true"})
        assert response.status_code == 204, path
        assert not response.content


def test_a_poll_gets_the_live_part_alone_once_something_changed(sight: Sight, fleet: Fleet, now: datetime) -> None:
    page = sight.text("/")
    fleet.report("gpu-003", at=now)
    response = sight.client.get(_poll(sight.client, page), headers={"HX-Request": "true"})
    part = response.content.decode()
    assert response.status_code == 200
    assert response.headers["X-Live"] == "part"
    assert "<html" not in part
    assert part.strip().startswith('<div class="stack" id="live"')
    assert "PCIe link width" not in part


def test_whole_page_and_part_are_kept_apart_by_caches(sight: Sight) -> None:
    response = sight.client.get("/")
    assert "HX-Request" in response.headers["Vary"]
    assert response.headers["Cache-Control"] == "private, no-store"


def test_a_poll_keeps_what_the_address_asked_for(sight: Sight) -> None:
    page = sight.text("/clusters/helios/", place="leaf-02")
    assert "place=leaf-02" in _poll(sight.client, page)


def test_no_page_holds_what_the_policy_forbids(sight: Sight) -> None:
    pages = {path: sight.client.get(path) for path in (*LIVE_PAGES, "/no-such-page")}
    pages["/accounts/login/"] = Client().get("/accounts/login/")
    for path, response in pages.items():
        page = response.content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)", page), path
        assert not re.search(r"\sstyle=|<style|\son[a-z]+=|hx-on|hx-vals=.js:|hx-trigger=\"[^\"]*\[", page), path
        assert '"allowEval": false' in page, path
