"""What a person does on each page, in a real browser."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from checks.models import RecheckRequest, Role
from tests.browser.conftest import Visit, sign_in
from tests.fleet import Fleet, person

pytestmark = pytest.mark.browser

PAGES = (
    "/",
    "/clusters/",
    "/clusters/helios/",
    "/clusters/helios/nodes/gpu-003/",
    "/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/",
    "/clusters/helios/items/gpu-pcie-width/",
    "/clusters/helios/enrol/",
    "/clusters/helios/nodes/gpu-003/decide/retire/",
    "/clusters/helios/nodes/gpu-003/evidence/",
    "/status",
)
WIDTH = "/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/"


def test_signing_in_leads_to_the_board_and_its_answer(visit: Visit) -> None:
    expect(visit.page.get_by_role("heading", name="What stops it")).to_be_visible()
    expect(visit.page.locator(".answer .a")).to_have_text("Not yet")
    expect(visit.page.locator("header.bar")).to_contain_text("Wren")


def test_a_wrong_password_is_told_in_a_sentence(visit: Visit) -> None:
    visit.page.get_by_role("button", name="Sign out").click()
    sign_in(visit, password="something else entirely")
    expect(visit.page.get_by_role("alert")).to_contain_text("not correct")


def test_a_red_cell_leads_in_one_click_to_its_value(visit: Visit) -> None:
    visit.go("/clusters/helios/").get_by_label("gpu-003 · gpu-pcie-width · fail").click()
    expect(visit.page).to_have_url(re.compile(f"{WIDTH}$"))
    expect(visit.page.locator(".answer .a")).to_contain_text("8\u202flanes")
    expect(visit.page.locator("dt", has_text="Remedy")).to_be_visible()
    expect(visit.page.locator("pre")).to_contain_text("8x")


def test_the_matrix_is_one_tab_stop_and_arrow_keys_walk_in_it(visit: Visit) -> None:
    page = visit.go("/clusters/helios/")
    cells = page.locator("table.heat >> visible=true").first.locator("a.cell")
    assert cells.count() > 10
    assert page.locator("table.heat >> visible=true").first.locator('a.cell[tabindex="0"]').count() == 1
    cells.first.focus()
    first = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowUp")
    assert first != second
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == first
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/nodes/gpu-0.*/items/"))


def test_a_re_check_is_watched_until_it_is_measured(visit: Visit) -> None:
    visit.page.clock.install()
    page = visit.go(WIDTH)
    page.get_by_role("button", name="Re-check now").click()
    expect(page.locator("#recheck")).to_contain_text("waiting for the agent's next call")
    RecheckRequest.objects.update(picked_up_at=timezone.now())
    visit.let_pass(4)
    expect(page.locator("#recheck")).to_contain_text("the agent is measuring")
    visit.fleet.report("gpu-003", at=timezone.now())
    visit.let_pass(4)
    expect(page.locator("#recheck")).to_contain_text("measured: pass")
    expect(page.locator(".answer .a")).to_contain_text("pass")


def test_an_enrolment_token_is_shown_once_and_can_be_copied(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.go("/clusters/helios/enrol/")
    page.get_by_label("How many nodes").fill("3")
    page.get_by_role("button", name="Issue an enrolment token").click()
    secret = page.locator("#secret").inner_text()
    page.locator('[data-copy="secret"]').click()
    expect(page.locator("#announcer")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == secret
    expect(visit.go("/clusters/helios/enrol/").locator("#secret")).to_have_count(0)


def test_chinese_and_back(visit: Visit) -> None:
    visit.page.get_by_role("button", name="中文").click()
    expect(visit.page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(visit.page.locator(".answer .a")).to_have_text("还不能")
    visit.page.get_by_role("button", name="English").click()
    expect(visit.page.locator(".answer .a")).to_have_text("Not yet")


def test_the_theme_is_kept_from_page_to_page(visit: Visit) -> None:
    toggle = visit.page.locator("[data-theme-toggle]")
    expect(toggle).to_have_attribute("aria-label", "Theme: auto")
    toggle.click()
    toggle.click()
    visit.go("/clusters/helios/")
    expect(visit.page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(visit.page.locator("[data-theme-toggle]")).to_have_attribute("aria-label", "Theme: dark")


def test_everything_can_be_done_without_javascript(live_server: LiveServer, browser: Browser, visit: Visit) -> None:
    context = browser.new_context(java_script_enabled=False, locale="en-GB")
    plain = Visit(context.new_page(), live_server.url, visit.fleet)
    sign_in(plain)
    expect(plain.page.locator(".answer .a")).to_have_text("Not yet")
    plain.go(WIDTH).get_by_role("button", name="Re-check now").click()
    expect(plain.page.locator("#recheck")).to_contain_text("waiting for the agent's next call")
    plain.page.get_by_role("button", name="中文").click()
    expect(plain.page.locator("html")).to_have_attribute("lang", "zh-Hans")
    context.close()


def test_nothing_is_wider_than_a_phone(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    for path in PAGES:
        assert visit.go(path).evaluate("document.documentElement.scrollWidth") <= 390, path


def test_a_phone_gets_the_matrix_by_switch_with_names_in_view(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.go("/clusters/helios/")
    expect(page.get_by_role("heading", name="Items by switch")).to_be_visible()
    expect(page.get_by_role("heading", name="Items on nodes")).to_be_hidden()
    page.get_by_label("leaf-01 · gpu-pcie-width · fail × 1").click()
    expect(page).to_have_url(re.compile("place=leaf-01"))


def test_a_stranger_meets_a_page_that_says_what_to_do(visit: Visit, fleet: Fleet) -> None:
    page = visit.go("/clusters/nowhere/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("There is no such page")
    page.get_by_role("link", name="Go to the board").click()
    expect(page.locator(".answer .a")).to_be_visible()


def test_an_exchanged_gpu_is_confirmed_with_both_serials_in_view(visit: Visit) -> None:
    node = visit.fleet.node("gpu-003")
    node.serials, node.unconfirmed_serials = {"gpu3": "1650924001234"}, {"gpu3": "1650924005678"}
    node.trouble = "hardware_changed"
    node.save()
    page = visit.go("/clusters/helios/nodes/gpu-003/")
    page.get_by_role("link", name="Confirm hardware").click()
    expect(page.get_by_role("row", name="gpu3")).to_have_text(re.compile("1650924001234.*1650924005678"))
    page.get_by_role("button", name="Confirm hardware").click()  # without a reason the browser lets nobody through
    page.get_by_label("Why").fill("GPU 3 exchanged")
    page.get_by_role("button", name="Confirm hardware").click()
    expect(page.locator(".notice.is-pass")).to_contain_text("gpu-003 is believed again from its next report.")
    expect(page.get_by_text("This machine's evidence is not believed.")).to_have_count(0)


def test_a_gpu_is_retired_without_javascript(live_server: LiveServer, fleet: Fleet, browser: Browser) -> None:
    person("wren", fleet.cluster, Role.LEAD, display_name="Wren")
    page = browser.new_context(java_script_enabled=False).new_page()
    visit = Visit(page, live_server.url, fleet)
    sign_in(visit)
    visit.go("/clusters/helios/nodes/gpu-003/")
    page.get_by_label("What to retire").select_option("gpu3")
    page.get_by_role("button", name="Retire").click()
    expect(page.locator(".decision")).to_contain_text("GPU 3 of gpu-003 is judged no more")
    page.get_by_label("Why").fill("the slot stays empty")
    page.get_by_role("button", name="Retire GPU 3").click()
    expect(page.locator(".notice.is-pass")).to_contain_text("GPU 3 of gpu-003 is retired.")
    page.context.close()
