"""No page has a serious accessibility fault, by day and by night, on a desk and in a hand."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Visit, planned

pytestmark = pytest.mark.browser

PAGES = (
    "/",
    "/clusters/",
    "/clusters/helios/",
    "/clusters/helios/nodes/gpu-003/",
    "/clusters/helios/nodes/gpu-004/",
    "/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/",
    "/clusters/helios/items/gpu-pcie-width/",
    "/clusters/helios/enrol/",
    "/clusters/helios/nodes/gpu-003/decide/confirm/",
    "/clusters/helios/nodes/gpu-003/decide/retire/",
    "/clusters/helios/nodes/gpu-003/evidence/",
    "/status",
    "/runs/",
    "/runs/cygnus-13b/",
    "/runs/cygnus-13b/history/",
    "/runs/cygnus-13b/record/",
    "/runs/cygnus-13b/sign/operations/",
    "/runs/cygnus-13b/sign/physical/",
    "/runs/cygnus-13b/waivers/new/",
    "/runs/cygnus-13b/override/",
    "/runs/cygnus-13b/stage/",
    "/clusters/helios/runs/new/",
    "/clusters/helios/policy/",
    "/clusters/helios/policy/propose/",
    "/clusters/helios/delegations/",
    "/accounts/reauthenticate/",
    "/clusters/nowhere/",
    "/accounts/2fa/",
    "/accounts/password/change/",
    "/accounts/logout/",
)


@pytest.mark.parametrize(("theme", "width"), [("light", 1366), ("dark", 1366), ("light", 390)])
def test_no_page_has_a_serious_fault(visit: Visit, theme: str, width: int) -> None:
    planned(visit)
    visit.page.set_viewport_size({"width": width, "height": 900})
    faults = []
    for path in PAGES:
        page = visit.go(f"{path}?theme={theme}")
        found = Axe().run(page).response["violations"]
        faults += [
            (path, fault["id"], [node["html"][:160] for node in fault["nodes"]][:3])
            for fault in found
            if fault["impact"] in ("serious", "critical")
        ]
    assert not faults


def test_the_sign_in_page_has_no_serious_fault(visit: Visit) -> None:
    visit.page.context.clear_cookies()
    found = Axe().run(visit.go("/accounts/login/")).response["violations"]
    assert not [fault["id"] for fault in found if fault["impact"] in ("serious", "critical")]
