"""A person brings what a tool printed: by day and by night, on a desk and in a hand."""

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import expect

from checks.models import ToolEvidence
from tests.adapters import samples
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

PAGE = "/clusters/helios/nodes/gpu-001/evidence/"


@pytest.mark.parametrize(("theme", "width"), [("light", 1366), ("dark", 390)])
def test_an_output_is_read_looked_at_and_kept(visit: Visit, theme: str, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    page = visit.go(f"{PAGE}?theme={theme}")
    page.get_by_label("Tool").select_option("nhc")
    page.get_by_label("What it printed").set_input_files(
        {"name": "nhc.log", "mimeType": "text/plain", "buffer": samples.NHC.encode()}
    )
    ran = timezone.now() - timedelta(minutes=1)
    page.get_by_label("When it ran").fill(ran.strftime("%Y-%m-%dT%H:%M"))
    page.get_by_role("button", name="Show what it says").click()
    expect(page.get_by_role("heading", name="2. What it says")).to_be_visible()
    expect(page.get_by_role("link", name="gpu-ecc")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    faults = [one["id"] for one in Axe().run(page).response["violations"] if one["impact"] in ("serious", "critical")]
    assert faults == []
    page.get_by_role("button", name="Keep it").click()

    expect(page.get_by_text("Kept, and judged like a report of the node's own.")).to_be_visible()
    assert ToolEvidence.objects.get().tool == "nhc"
