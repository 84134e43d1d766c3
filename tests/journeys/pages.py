"""Steps in the browser that several journeys take."""

from playwright.sync_api import Page, expect

from tests.journeys.user import Portal


def sign_in(page: Page, portal: Portal) -> None:
    """As the person whom ``make run`` made."""
    page.goto(portal.url)
    page.get_by_label("User name").fill(portal.notes["username"])
    page.get_by_label("Password").fill(portal.notes["password"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_be_attached()
