"""A second factor in a real browser: set up, asked for at sign-in, and taken as proof."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.cache import cache
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from checks.models import LedgerEntry, PolicyVersion
from tests.browser.conftest import Visit, sign_in
from tests.fleet import PASSWORD

pytestmark = pytest.mark.browser
ACCOUNT = "/accounts/2fa/"
PROPOSE = "/clusters/helios/policy/propose/"


@pytest.fixture(autouse=True)
def _forget_guesses() -> None:
    cache.clear()


def code_of(secret: str, *, ahead: int = 0) -> str:
    """What an authenticator shows now, or some steps of 30 s later; RFC 6238."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + ahead)))


def prove(page: Page) -> None:
    page.get_by_label("Password of Wren").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()


def set_up_an_app(visit: Visit) -> str:
    """Walk from the person's menu to an authenticator app; its secret."""
    visit.page.get_by_role("link", name="Wren").first.click()
    visit.page.get_by_role("link", name="Set up an authenticator app").click()
    prove(visit.page)
    expect(visit.page.get_by_alt_text("The secret as a QR code")).to_be_visible()
    secret = visit.page.locator("#authenticator_secret").inner_text().strip()
    visit.page.get_by_label("Code from your authenticator").fill(code_of(secret))
    visit.page.get_by_role("button", name="Turn it on").click()
    expect(visit.page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    return secret


def test_an_authenticator_app_is_set_up_and_asked_for_at_the_next_sign_in(visit: Visit) -> None:
    secret = set_up_an_app(visit)
    assert visit.page.locator("#recovery_codes").inner_text().split()
    assert LedgerEntry.objects.filter(what="second_factor_added", target="wren totp").exists()
    visit.page.context.clear_cookies()

    sign_in(visit)
    expect(visit.page.get_by_role("heading", name="Second factor")).to_be_visible()
    visit.page.get_by_label("Code from your authenticator").fill("000000")
    visit.page.get_by_role("button", name="Sign in").click()
    expect(visit.page.locator("#id_code_error")).to_be_visible()
    visit.page.get_by_label("Code from your authenticator").fill(code_of(secret, ahead=1))
    visit.page.get_by_role("button", name="Sign in").click()
    expect(visit.page.get_by_role("link", name="Wren").first).to_be_visible()


def test_a_code_of_the_app_is_proof_and_the_form_survives_it(visit: Visit) -> None:
    secret = set_up_an_app(visit)
    visit.page.context.clear_cookies()
    sign_in(visit)
    visit.page.get_by_label("Code from your authenticator").fill(code_of(secret, ahead=1))
    visit.page.get_by_role("button", name="Sign in").click()
    expect(visit.page.get_by_role("link", name="Wren").first).to_be_visible()
    page = visit.go(PROPOSE)
    page.get_by_label("Reason").fill("shorter shifts")
    page.get_by_role("button", name="Propose it").click()
    page.get_by_role("link", name=re.compile("authenticator")).click()
    cache.clear()  # the code that opened the session counts as used for its 30 s
    page.get_by_label("Code from your authenticator").fill(code_of(secret))
    page.get_by_role("button", name="Go on").click()
    expect(page).not_to_have_url(re.compile("reauthenticate"))
    assert PolicyVersion.objects.get().reason == "shorter shifts"


def test_a_security_key_is_added_and_taken_as_proof(visit: Visit, settings: Settings) -> None:
    """Chromium's own virtual authenticator."""
    settings.MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = True
    devices = visit.page.context.new_cdp_session(visit.page)
    devices.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "usb", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    page = visit.go(ACCOUNT)
    page.get_by_role("link", name="Add a security key").click()
    prove(page)
    page.get_by_label("What you call it").fill("Blue key")
    page.get_by_role("button", name="Add the key").click()
    expect(page.get_by_role("heading", name=re.compile("Recovery codes|Security keys"))).to_be_visible()
    assert Authenticator.objects.filter(type=Authenticator.Type.WEBAUTHN).count() == 1

    page.context.clear_cookies()
    sign_in(visit)
    page.get_by_role("button", name="Use your security key").click()
    expect(page.get_by_role("link", name="Wren").first).to_be_visible()
    page = visit.go(PROPOSE)
    page.get_by_label("Reason").fill("by key")
    page.get_by_role("button", name="Propose it").click()
    page.get_by_role("link", name=re.compile("security key")).click()
    page.get_by_role("button", name="Use your security key").click()
    expect(page).not_to_have_url(re.compile("reauthenticate"))
    assert PolicyVersion.objects.get().reason == "by key"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_of_the_account_fit_a_hand(visit: Visit, theme: str) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    for path in (ACCOUNT, "/accounts/password/change/"):
        page = visit.go(f"{path}?theme={theme}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
