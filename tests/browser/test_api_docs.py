"""The API's documentation in a real browser: under the strict content security policy, and without any other site."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, expect
from pytest_django.live_server_helper import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture
def asked(page: Page) -> list[Request]:
    """Every request that the page makes."""
    seen: list[Request] = []
    page.on("request", lambda one: seen.append(one))
    return seen


@pytest.fixture
def errors(page: Page) -> list[str]:
    """What the browser complains of: scripts that the policy stops, files that are not there."""
    seen: list[str] = []
    page.on("console", lambda message: seen.append(message.text) if message.type == "error" else None)
    return seen


def test_a_reader_finds_a_call_its_parameters_and_what_its_answer_looks_like(
    live_server: LiveServer, page: Page, errors: list[str]
) -> None:
    page.goto(f"{live_server.url}/api/v1/docs")
    call = page.get_by_role("article", name="GET /api/v1/clusters/{cluster}/ready-nodes")

    expect(call.get_by_role("row", name="count required")).to_contain_text("How many nodes are wanted.")
    call.get_by_role("link", name="ReadyNodes").click()
    expect(page.get_by_role("heading", name="ReadyNodes")).to_be_in_viewport()
    assert errors == []


@pytest.mark.parametrize(("theme", "width"), [("light", 1366), ("dark", 390)])
def test_the_page_has_no_serious_accessibility_fault(
    live_server: LiveServer, page: Page, theme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{live_server.url}/api/v1/docs?theme={theme}")
    found = Axe().run(page).response["violations"]

    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_it_can_be_tried_out_without_any_other_site_and_with_nothing_stopped_by_the_policy(
    live_server: LiveServer, page: Page, asked: list[Request], errors: list[str]
) -> None:
    page.goto(f"{live_server.url}/api/v1/docs")
    page.get_by_role("link", name="Try it out").click()

    page.get_by_role("button", name="May a job start on these nodes, now?").first.click(timeout=60_000)
    expect(page.get_by_role("button", name="Try it out")).to_be_visible()
    assert [one.url for one in asked if not one.url.startswith((live_server.url, "data:"))] == []
    assert errors == []
