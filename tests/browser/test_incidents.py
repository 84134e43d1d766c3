"""Incidents in a real browser: found while typing, a threshold that moves, and nothing wider than a hand."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django import Settings

from checks.domain.incidents.kinds import ActionKind, Relation
from checks.domain.incidents.knowledge import read_known
from checks.models import Incident, Node, ValueRollup
from checks.services.incident_actions import Plan, propose_action
from checks.services.incident_links import Linking
from checks.services.incident_records import PORTAL, Touched
from checks.services.precedents import load_precedents
from tests.browser.conftest import MINUTE, Visit
from tests.incidents import opened
from tests.lab import our_catalogue

pytestmark = pytest.mark.browser
ITEM = "/clusters/helios/items/sysctl-netdev-backlog/"
LONG = "`" + "x" * 120 + "`\n\n| a | b |\n|---|---|\n| " + "wide " * 40 + " | 2 |\n"


@pytest.fixture
def told(visit: Visit, settings: Settings, tmp_path: Path) -> Visit:
    """An incident of gpu-001 that an item should have caught, with an action, a long summary, and values of today."""
    now = timezone.now()
    files = (Path(__file__).resolve().parents[2] / "checks" / "knowledge").glob("*.toml")
    load_precedents(known=read_known(sorted(files), items=our_catalogue().items), now=now)
    for host, value in (("gpu-001", 6_000.0), ("gpu-003", 250_000.0)):
        ValueRollup.objects.create(
            node=Node.objects.get(hostname=host), item="sysctl-netdev-backlog", name="live", grain="day",
            at=now.replace(hour=0, minute=0, second=0, microsecond=0), least=value, greatest=value, last=value,
            samples=288,
        )  # fmt: skip
    incident = opened(
        visit.fleet.cluster, now=now, started_at=now - 90 * MINUTE, detected_at=now - 60 * MINUTE, gpus_affected=256,
        touched=(Touched("gpu-001", "gpu3"),), summary=LONG,
        links=(Linking("sysctl-netdev-backlog", Relation.SHOULD_HAVE_CAUGHT, "far too small, and passed"),
               Linking("gpu-xid", Relation.CAUGHT), Linking("gpu-ecc", Relation.CAUSED_FALSE_ALARM),
               Linking("net-switch-qos", Relation.RELATED, "first suspect, ruled out")),
    ).incident  # fmt: skip
    propose_action(incident=incident, plan=Plan(ActionKind.THRESHOLD, "Ask for more"), author=PORTAL, now=now)
    return visit


def test_incidents_are_found_while_somebody_types(told: Visit) -> None:
    page = told.go("/incidents/")
    page.get_by_label("Search").fill("rank ha")
    expect(page.locator("#found h2")).to_have_text("Found")
    expect(page.locator("#found")).to_contain_text("Rank 3 hangs in all-reduce")
    page.get_by_label("Search").fill("unheard of")
    expect(page.locator("#found")).to_contain_text("Nothing of that kind")
    expect(page).to_have_url(re.compile("q=unheard"))


def test_a_threshold_is_moved_and_its_misses_follow(told: Visit) -> None:
    page = told.go(f"{ITEM}back-test/")
    expect(page.locator("#result")).not_to_contain_text("tried")
    page.locator("#threshold").fill("10000")
    expect(page.locator("#result")).to_contain_text("Propose ≥ 10,000")
    expect(page.locator("#result .plot")).to_be_visible()
    page.get_by_role("link", name="Propose ≥ 10,000").click()
    expect(page.get_by_role("spinbutton", name="Threshold")).to_have_value("10000.0")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_about_incidents_has_a_serious_fault_or_runs_out_of_the_window(
    told: Visit, theme: str, width: int
) -> None:
    told.page.set_viewport_size({"width": width, "height": 900})
    number = Incident.objects.values_list("pk", flat=True).get()
    for path in (
        "/incidents/", f"/incidents/{number}/", "/incidents/blind-spots/", "/incidents/lemons/", "/incidents/known/",
        "/clusters/helios/incidents/new/", f"/incidents/{number}/link/", f"/incidents/{number}/actions/new/", ITEM,
        f"{ITEM}back-test/?threshold=10000",
    ):  # fmt: skip
        page = told.go(f"{path}{'&' if '?' in path else '?'}theme={theme}")
        found = Axe().run(page).response["violations"]
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

        assert [(path, one["id"], [node["html"][:160] for node in one["nodes"]][:3]) for one in found
                if one["impact"] in ("serious", "critical")] == []  # fmt: skip
        assert over == 0, path
