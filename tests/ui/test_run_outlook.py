"""What a run's page says of settings that changed since it was signed, and of interruptions to expect."""

from datetime import datetime, timedelta

import pytest

from tests.fleet import Fleet
from tests.settings_sent import RMEM, tell
from tests.ui.signing import RUN, SIGN_DATA, Lab, make_lab, sent

MINUTE = timedelta(minutes=1)
USUAL = {RMEM: "212992", **{f"sysctl:a.s{n}": "1" for n in range(9)}}


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    """A run on nodes that told their settings, signed in one layer by Sable."""
    for name in ("gpu-001", "gpu-002"):
        tell(fleet.node(name), USUAL, at=now - timedelta(hours=1))
    lab = make_lab(fleet, now)
    sent(lab.sight("sable").client, SIGN_DATA)
    return lab


def test_a_run_that_nobody_signed_has_nothing_to_compare_with(fleet: Fleet, now: datetime) -> None:
    lab = make_lab(fleet, now)

    assert "Settings changed since sign-off" not in lab.sight("sable").text(RUN)


def test_no_change_since_is_said(lab: Lab) -> None:
    assert "No setting of its nodes changed." in lab.sight("sable").text(RUN)


def test_a_setting_that_changed_since_is_named_with_its_node(lab: Lab, now: datetime) -> None:
    tell(lab.fleet.node("gpu-002"), USUAL | {RMEM: "4096"}, at=now + 5 * MINUTE)

    page = lab.sight("sable").text(RUN)

    panel = page[page.index("Settings changed since sign-off") :]
    for said in ("net.core.rmem_max", "212992", "<mark>4096</mark>", "gpu-002", "1 of 2"):
        assert said in panel


def test_the_drift_page_of_the_run_shows_the_same(lab: Lab, now: datetime) -> None:
    tell(lab.fleet.node("gpu-002"), USUAL | {RMEM: "4096"}, at=now + 5 * MINUTE)

    page = lab.sight("sable").text("/drift/", a="run/cygnus-13b")

    assert "what changed on its nodes since the newest signature" in page
    assert "<mark>4096</mark>" in page


def test_the_outlook_is_a_range_with_its_sources(lab: Lab) -> None:
    page = lab.sight("sable").text(RUN)

    assert "Interruptions to expect" in page
    assert "0 restarts in 0 node-days" in page
    assert "Days without failure prove little" in page
