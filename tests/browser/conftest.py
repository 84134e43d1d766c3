"""A portal with a small fleet, and somebody who has signed in to it with a real browser."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from checks.models import Role
from checks.services.heartbeats import note_alive
from tests.fleet import PASSWORD, Fleet, healthy_nodes, make_fleet, person
from tests.ui.signing import Lab, make_lab

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Visit:
    """A page in the hands of somebody, and the fleet that it shows."""

    page: Page
    url: str
    fleet: Fleet

    def go(self, path: str) -> Page:
        """Open *path*."""
        self.page.goto(self.url + path)
        return self.page

    def let_pass(self, seconds: int) -> None:
        """Let the page's clock run ahead; the page must have been opened with a clock of its own."""
        self.page.clock.fast_forward(seconds * 1000)


SignIn = Callable[..., Visit]


@pytest.fixture
def fleet(transactional_db: None) -> Fleet:
    """helios: gpu-001 is ready, gpu-003 has a GPU on half of its lanes, gpu-004 was never measured."""
    now = timezone.now()
    fleet = make_fleet(at=now - 120 * MINUTE)
    healthy_nodes(fleet, ["gpu-001", "gpu-003"], at=now - 5 * MINUTE, switch="leaf-01")
    fleet.report(
        "gpu-003",
        at=now - MINUTE,
        changed={"gpu-pcie-width": {"width": 8}},
        subjects={"gpu-pcie-width": ["gpu3"]},
        evidence={"gpu-pcie-width": "<current_link_width>8x</current_link_width>"},
    )
    fleet.enrol("gpu-004", at=now - MINUTE, switch="leaf-02")
    for name in ("worker", "beat", "sweep"):
        note_alive(name=name, now=now)
    return fleet


@pytest.fixture
def visit(live_server: LiveServer, fleet: Fleet, page: Page) -> Visit:
    """Wren, who leads helios, on the board."""
    person("wren", fleet.cluster, Role.LEAD, display_name="Wren")
    visit = Visit(page, live_server.url, fleet)
    sign_in(visit)
    return visit


def sign_in(visit: Visit, password: str = PASSWORD) -> None:
    """Fill in the form as a person would."""
    visit.go("/accounts/login/")
    visit.page.get_by_label("User name").fill("wren")
    visit.page.get_by_label("Password").fill(password)
    visit.page.locator("main").get_by_role("button", name="Sign in").click()


def planned(visit: Visit) -> Lab:
    """A run on gpu-001 and gpu-002, whose operations layer Wren can sign; others sign for the other roles."""
    now = timezone.now()
    healthy_nodes(visit.fleet, ["gpu-002"], at=now - 5 * MINUTE, switch="leaf-01")
    return make_lab(visit.fleet, now, platform="wes")
