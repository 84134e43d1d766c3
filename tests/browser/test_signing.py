"""Signing in a real browser: the evidence is looked at, the form survives the proof, the name stands on the line."""

import re

import pytest
from playwright.sync_api import expect

from checks.models import Signature
from tests.browser.conftest import Visit, planned
from tests.fleet import PASSWORD
from tests.ui.signing import RUN, SIGN_OPERATIONS

pytestmark = pytest.mark.browser


def test_a_lead_looks_at_evidence_signs_proves_it_and_stands_on_the_line(visit: Visit) -> None:
    planned(visit)
    page = visit.go(SIGN_OPERATIONS)
    with page.context.expect_page() as opened:
        page.get_by_role("link", name=re.compile("What happens on NaN")).first.click()
    opened.value.close()
    page.bring_to_front()
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("[data-opened-count]")).to_have_text("1")
    page.get_by_label("I reviewed this").check()
    page.get_by_label("Note").fill("Shift plan holds.")
    page.get_by_role("button", name="Sign as lead").click()
    expect(page.get_by_role("heading", name="Prove that it is you")).to_be_visible()
    page.get_by_label("Password of Wren").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    expect(page).to_have_url(re.compile(f"{RUN}$"))
    expect(page.locator(".slot .name", has_text="Wren")).to_be_visible()
    signed = Signature.objects.get()
    assert (signed.comment, signed.meaning, signed.auth_method) == ("Shift plan holds.", "reviewed", "password")
    assert list(signed.annex["seconds"]) == ["loss-guard"]


def test_signing_works_without_any_script(visit: Visit) -> None:
    planned(visit)
    page = visit.go(SIGN_OPERATIONS)
    state = page.context.storage_state()
    browser = page.context.browser
    assert browser is not None
    plain = browser.new_context(java_script_enabled=False, storage_state=state)
    bare = plain.new_page()
    bare.goto(visit.url + SIGN_OPERATIONS)
    bare.get_by_label("I accept responsibility").check()
    bare.get_by_role("button", name="Sign as lead").click()
    bare.get_by_label("Password of Wren").fill(PASSWORD)
    bare.get_by_role("button", name="Go on").click()
    expect(bare.locator(".slot .name", has_text="Wren")).to_be_visible()
    plain.close()
    assert Signature.objects.get().meaning == "responsible"


def test_the_pool_is_counted_while_it_is_typed(visit: Visit) -> None:
    page = visit.go("/clusters/helios/runs/new/")
    page.get_by_label("Nodes it may use").fill("gpu-[001,003-004],gpu-099")
    expect(page.locator("#preview")).to_contain_text("gpu-099")
    expect(page.locator("#preview dd").first).to_have_text("3")


@pytest.mark.parametrize("path", [RUN, SIGN_OPERATIONS, "/runs/", "/clusters/helios/runs/new/", f"{RUN}history/"])
def test_no_page_of_a_run_is_wider_than_a_phone(visit: Visit, path: str) -> None:
    planned(visit)
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.go(path)
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0
