"""Pages keep themselves up to date: politely, and telling changes only."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Request, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser


def _polls(visit: Visit) -> list[str]:
    """Addresses that the page asks by itself, from now on."""
    asked: list[str] = []

    def note(request: Request) -> None:
        if "hx-request" in request.headers:
            asked.append(request.url)

    visit.page.on("request", note)
    return asked


@pytest.fixture
def board(visit: Visit) -> Visit:
    """The board under a clock that the test moves."""
    visit.page.clock.install()
    visit.go("/")
    expect(visit.page.locator(".answer .a")).to_be_visible()
    return visit


def test_the_board_changes_by_itself_and_says_what_changed(board: Visit) -> None:
    expect(board.page.get_by_role("link", name="PCIe link width").first).to_be_visible()
    board.fleet.report("gpu-003", at=timezone.now())
    with board.page.expect_response(lambda response: "marker=" in response.url):
        board.let_pass(16)
    expect(board.page.get_by_role("link", name="PCIe link width")).to_have_count(0)
    expect(board.page.locator("#announcer")).to_contain_text("2 of 3 nodes are ready.")


def test_nothing_is_said_while_nothing_changes(board: Visit) -> None:
    with board.page.expect_response(lambda response: response.status == 204):
        board.let_pass(16)
    expect(board.page.locator("#announcer")).to_be_empty()


def test_a_hidden_page_asks_nothing_and_catches_up_when_it_is_seen(board: Visit) -> None:
    asked = _polls(board)
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    tell = "document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))"
    board.page.evaluate(hide % "true" + tell)
    board.let_pass(300)
    board.page.wait_for_timeout(200)
    assert asked == []
    with board.page.expect_response(lambda response: "marker=" in response.url):
        board.page.evaluate(hide % "false" + tell)


def test_the_page_says_when_the_portal_does_not_answer(board: Visit) -> None:
    board.page.route("**/*marker=*", lambda route: route.abort())
    board.let_pass(16)
    expect(board.page.locator(".pulse")).to_have_class("pulse is-late")


def test_ages_count_on_without_asking(board: Visit) -> None:
    stamp = board.page.locator("[data-as-of]")
    expect(stamp).to_have_text(re.compile(r"^\d s$"))
    board.page.route("**/*marker=*", lambda route: route.abort())
    board.let_pass(130)
    expect(stamp).to_have_text("2 min")


def test_the_keyboard_stays_where_it_was_when_the_page_changes(board: Visit) -> None:
    link = board.page.get_by_role("link", name="Open the cluster")
    link.focus()
    board.fleet.report("gpu-003", at=timezone.now())
    with board.page.expect_response(lambda response: "marker=" in response.url):
        board.let_pass(16)
    expect(board.page.get_by_role("link", name="PCIe link width")).to_have_count(0)
    expect(link).to_be_focused()


def test_someone_who_was_signed_out_is_asked_to_sign_in_again(board: Visit) -> None:
    board.page.context.clear_cookies()
    board.let_pass(16)
    expect(board.page.get_by_role("heading", name="Sign in")).to_be_visible()
