"""A real Chromium for the tests under ``browser/`` and ``journeys/``."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

FLAGS = [
    "--no-sandbox",  # tests run as root in containers; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 15_000


@pytest.fixture(scope="session")
def _playwright() -> Iterator[Playwright]:
    # Playwright's synchronous API keeps an event loop in this thread, and Django would refuse to query beside it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(_playwright: Playwright) -> Iterator[Browser]:
    """The system's Chromium; `make test` installs it or says how to."""
    program = shutil.which("chromium") or pytest.fail("No chromium on PATH: run tests/install-tools.", pytrace=False)
    launched = _playwright.chromium.launch(executable_path=program, args=FLAGS)
    yield launched
    launched.close()


@pytest.fixture
def browser_context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile: no cookies, English, a laptop's window."""
    context = browser.new_context(locale="en-GB", timezone_id="UTC", viewport={"width": 1366, "height": 850})
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def page(browser_context: BrowserContext) -> Iterator[Page]:
    """A page that fails its test when the page's own script, or its Content-Security-Policy, complains."""
    opened = browser_context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if "Content Security Policy" in said.text else None)
    yield opened
    assert not complaints, f"The page complained: {complaints}"
