"""A what-if in a real browser: sliders, charts, and what is wrong beside its field."""

import io
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Route, expect

from checks.domain.cost.scenario import Scenario
from checks.services.costs import estimate_run, import_actual
from checks.services.price_books import load_book
from tests.browser.conftest import Visit, planned
from tests.chromium import PATIENCE_MS
from tests.domain.cost.pricing import SHIPPED

pytestmark = pytest.mark.browser


@pytest.fixture
def bench(visit: Visit) -> Visit:
    """The calculator, with the shipped price books loaded."""
    for book in SHIPPED.values():
        load_book(book=book, confirmed=True, by=None, now=timezone.now())
    visit.go("/costs/?provider=aws")
    return visit


def test_a_slider_moves_its_field_and_the_result_follows(bench: Visit) -> None:
    page = bench.page
    page.locator('input[type=range][data-moves="id_interval_min"]').focus()
    page.keyboard.press("End")
    expect(page.locator("#id_interval_min")).to_have_value("480")
    expect(page).to_have_url(re.compile("interval_min=480"), timeout=PATIENCE_MS)
    expect(page.locator("#lines")).to_contain_text("Work lost since the checkpoint")


def test_what_was_chosen_before_the_page_had_its_scripts_counts(bench: Visit) -> None:
    held: list[Route] = []
    bench.page.route("**/htmx*.js", lambda route: held.append(route))
    with bench.page.expect_request("**/htmx*.js"):
        bench.page.goto(f"{bench.url}/costs/?provider=aws", wait_until="commit")
    bench.page.locator("#id_route").select_option("internet")
    for route in held:
        route.continue_()
    expect(bench.page).to_have_url(re.compile("route=internet"), timeout=PATIENCE_MS)


def test_charts_are_drawn_from_their_tables(bench: Visit) -> None:
    expect(bench.page.locator("#drawn-curve svg").first).to_be_visible(timeout=PATIENCE_MS)
    expect(bench.page.locator("#drawn-parts svg").first).to_be_visible(timeout=PATIENCE_MS)


def test_a_wrong_number_is_told_beside_its_field_while_typing(bench: Visit) -> None:
    bench.page.locator("#id_keep_last").fill("-1")
    expect(bench.page.locator("#id_keep_last_error")).to_contain_text("Give 0 or more.")
    expect(bench.page.locator("#id_keep_last")).to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_about_costs_has_a_serious_fault_or_runs_out_of_the_window(
    bench: Visit, theme: str, width: int
) -> None:
    bench.page.set_viewport_size({"width": width, "height": 900})
    call_command("prices", "load", "--yes", stdout=io.StringIO())
    for path in ("/costs/?provider=azure", "/costs/prices/?", "/costs/article/?", "/costs/rates/?"):
        page = bench.go(f"{path}&theme={theme}")
        found = Axe().run(page).response["violations"]
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

        assert [(one["id"], [node["html"][:160] for node in one["nodes"]][:3]) for one in found
                if one["impact"] in ("serious", "critical")] == []  # fmt: skip
        assert over == 0, path


@pytest.mark.parametrize("width", [390, 1440])
def test_an_estimate_its_bill_and_the_price_of_a_gpu_hour_have_no_serious_fault(bench: Visit, width: int) -> None:
    lab, now = planned(bench), timezone.now()
    row = estimate_run(
        run=lab.run,
        name="as planned",
        scenario=Scenario(gpus=16, days=9),
        provider="aws",
        by=lab.people["wes"],
        now=now,
    )
    bill = f"cause,amount,currency\ncompute,{row.expected * 2:.2f},USD\n"
    import_actual(frozen=row, text=bill, file_name="november.csv", by=lab.people["wes"], now=now)
    bench.page.set_viewport_size({"width": width, "height": 900})
    for path in (f"/costs/estimates/{row.pk}/", f"/runs/{lab.run.slug}/", "/clusters/helios/price/", "/"):
        page = bench.go(path)
        found = Axe().run(page).response["violations"]
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], path
        assert over == 0, path


def test_the_scale_of_the_ranges_can_be_read_on_a_wide_screen(bench: Visit) -> None:
    bench.page.set_viewport_size({"width": 1440, "height": 900})
    label = bench.go("/costs/?provider=aws").locator("#lines thead .range text").first
    height = label.evaluate("(text) => text.getBoundingClientRect().height")

    assert height >= 12
