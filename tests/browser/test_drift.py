"""Drift in a real browser: found, made an item with one click, and readable in every width, theme and language."""

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import expect

from checks.domain.cost.price_files import read_base_rates
from checks.services.price_books import load_base_rates
from tests.architecture.source_files import ROOT
from tests.browser.conftest import Visit, planned
from tests.settings_sent import BACKLOG, RMEM, tell
from tests.ui.signing import RUN, SIGN_DATA, sent

pytestmark = pytest.mark.browser

SHIPPED_RATES = ROOT / "checks" / "rates" / "base.toml"
LONG = "sysctl:net.ipv4.conf.an-interface-with-a-very-long-name-indeed.accept_source_route_of_all_the_packets"
USUAL = {
    BACKLOG: "250000",
    RMEM: "212992",
    LONG: "0 1 2 3 4 5 6 7 8 9 " * 9,
    **{f"sysctl:a.s{n}": "1" for n in range(9)},
}


@pytest.fixture
def told(visit: Visit) -> Visit:
    """gpu-003 has three settings otherwise than the others, one of them since an hour ago."""
    now = timezone.now()
    for name in ("gpu-001", "gpu-004"):
        tell(visit.fleet.node(name), USUAL, at=now - timedelta(days=9))
    odd = USUAL | {RMEM: "4096", BACKLOG: "1000", LONG: "x"}
    tell(visit.fleet.node("gpu-003"), odd | {RMEM: "212992"}, at=now - timedelta(days=9))
    tell(visit.fleet.node("gpu-003"), odd, at=now - timedelta(hours=1))
    return visit


def test_one_click_leads_from_the_odd_setting_to_its_item(told: Visit) -> None:
    page = told.go("/drift/")
    page.get_by_role("button", name="Make an item net.core.rmem_max").click()

    main = page.get_by_role("main")
    expect(main).to_contain_text("Setting net.core.rmem_max")
    expect(main).to_contain_text("net.core.rmem_max is an item now")
    expect(told.go("/drift/").get_by_role("table", name="Settings that are items")).to_contain_text("warns")


def test_the_filter_works_by_its_form_alone(told: Visit) -> None:
    page = told.go("/drift/")
    page.get_by_label("Only with").fill("rmem")
    page.get_by_role("button", name="Compare").click()

    expect(page.get_by_role("table", name="Ranked by suspicion").locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_about_drift_has_a_serious_fault_or_runs_out_of_the_window(told: Visit, theme: str, width: int) -> None:
    told.page.set_viewport_size({"width": width, "height": 900})
    told.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    signed = planned(told)
    load_base_rates(read_base_rates(SHIPPED_RATES))
    sent(signed.sight("sable").client, SIGN_DATA)
    now = timezone.now() + timedelta(minutes=5)
    tell(told.fleet.node("gpu-001"), USUAL | {RMEM: "8192"}, at=now)
    for path in ("/drift/", "/drift/?a=helios&node=gpu-003", RUN):
        page = told.go(path)
        found = Axe().run(page).response["violations"]
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

        assert [(one["id"], [node["html"][:160] for node in one["nodes"]][:3]) for one in found
                if one["impact"] in ("serious", "critical")] == []  # fmt: skip
        assert over == 0, path
