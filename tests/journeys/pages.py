"""Steps in the browser that several journeys take."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.chromium import PATIENCE_MS
from tests.journeys.user import Portal


def sign_in(page: Page, portal: Portal) -> None:
    """As the person whom ``make run`` made."""
    page.goto(portal.url)
    page.get_by_label("User name").fill(portal.notes["username"])
    page.get_by_label("Password").fill(portal.notes["password"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_be_attached()


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody at a screen of their own: signed in, and asked to prove it when they act."""

    page: Page
    portal: Portal
    password: str

    @classmethod
    def at(cls, browser: Browser, portal: Portal, *, username: str, password: str) -> "Person":
        """In a browser profile that nobody else has, signed in at the door."""
        context = browser.new_context(locale="en-GB", timezone_id="UTC", viewport={"width": 1366, "height": 850})
        context.set_default_timeout(PATIENCE_MS)
        person = cls(context.new_page(), portal, password)
        person.go("/accounts/login/")
        person.page.get_by_label("User name").fill(username)
        person.page.get_by_label("Password").fill(password)
        person.press("Sign in")
        expect(person.page.get_by_role("button", name="Sign out")).to_be_attached()
        return person

    def go(self, path: str) -> Page:
        """Open a page of the portal."""
        self.page.goto(self.portal.url + path)
        return self.page

    def press(self, button: str | re.Pattern[str]) -> None:
        """Press a button in the main part of the page, and prove to be there where the portal asks."""
        self.page.get_by_role("main").get_by_role("button", name=button).click()
        self.prove()

    def prove(self) -> None:
        """Where the portal asks who is there: say it."""
        self.page.wait_for_load_state()
        if self.page.get_by_role("heading", name="Prove that it is you").count():
            self.page.get_by_label("Password of").fill(self.password)
            self.page.get_by_role("main").get_by_role("button", name="Go on").click()

    def fill(self, fields: Mapping[str, str]) -> None:
        """Fields of a form by their labels."""
        for label, value in fields.items():
            self.page.get_by_role("main").get_by_label(label, exact=True).fill(value)

    def sign(self, run: str, layer: str) -> None:
        """Read the sign page, choose what the signature means, and sign."""
        self.go(f"{run}sign/{layer}/").get_by_label("I reviewed this").check()
        self.press(re.compile("^Sign as "))
        expect(self.page).to_have_url(re.compile(f"{run}$"))

    def state(self, path: str, *, facts: Mapping[str, str], picture: FilePayload) -> None:
        """State a result with a picture beside it."""
        self.go(path)
        self.prove()
        self.fill({**facts, "What you looked at, and what you found": "Looked at it."})
        self.page.get_by_label("Evidence").set_input_files(picture)
        self.press("State it")

    def close(self) -> None:
        """Leave."""
        self.page.context.close()
