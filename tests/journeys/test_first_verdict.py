"""A newcomer starts the portal, and it tells the truth about the machine that it runs on."""

import re
import stat
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.pages import sign_in
from tests.journeys.user import Portal

SYSCTLS = {
    "sysctl-somaxconn": ("net/core/somaxconn", 65_535),
    "sysctl-syn-backlog": ("net/ipv4/tcp_max_syn_backlog", 65_535),
    "sysctl-netdev-backlog": ("net/core/netdev_max_backlog", 5_000),
}


def kernel_setting(name: str) -> int:
    return int(Path("/proc/sys", name).read_text())


def this_node(portal: Portal) -> dict[str, Any]:
    return portal.gate(portal.notes["cluster"])


def test_what_scripts_need_is_written_down_for_its_owner_only(portal: Portal) -> None:
    notes = portal.var / "quickstart.json"

    assert stat.S_IMODE(notes.stat().st_mode) == 0o600
    assert {"url", "cluster", "username", "password", "gate_token", "enrolment_token"} <= set(portal.notes)


def test_this_machine_is_not_ready_because_nobody_tuned_it(portal: Portal) -> None:
    answer = this_node(portal)

    assert (answer["decision"], answer["ready"]) == ("not_ready", False)


@pytest.mark.parametrize("item", SYSCTLS)
def test_a_kernel_setting_is_judged_as_proc_shows_it(portal: Portal, item: str) -> None:
    path, needed = SYSCTLS[item]
    live = kernel_setting(path)
    reasons = {reason["item"]: reason for reason in this_node(portal)["reasons"]}

    if live >= needed:
        assert item not in reasons or reasons[item]["verdict"] != "fail"
    else:
        assert reasons[item]["verdict"] == "fail"
        assert str(live) in str(reasons[item]["value"]).replace(",", "")


def test_a_machine_without_gpus_has_no_gpu_among_its_reasons(portal: Portal) -> None:
    assert not [reason for reason in this_node(portal)["reasons"] if reason["item"].startswith("gpu-")]


def test_the_example_node_is_ready_and_says_that_it_is_a_replay(portal: Portal, page: Page) -> None:
    assert portal.gate("example", nodes="example-ok")["decision"] == "ready"

    sign_in(page, portal)
    page.goto(f"{portal.url}/clusters/example/nodes/example-ok/")
    expect(page.get_by_text(re.compile("replayed", re.IGNORECASE)).first).to_be_visible()


def test_a_red_cell_leads_to_value_threshold_and_remedy(portal: Portal, page: Page) -> None:
    live = kernel_setting("net/core/somaxconn")
    sign_in(page, portal)
    page.goto(f"{portal.url}/clusters/{portal.notes['cluster']}/")

    page.get_by_role("main").get_by_role("link", name=re.compile("sysctl-somaxconn")).first.click()

    main = page.get_by_role("main")
    for said in (f"{live:,}", "65,535", "sysctl"):
        expect(main).to_contain_text(said)


def test_a_re_check_is_measured_while_one_watches(portal: Portal, page: Page) -> None:
    sign_in(page, portal)
    node = this_node(portal)["nodes"]["not_ready_nodes"]
    page.goto(f"{portal.url}/clusters/{portal.notes['cluster']}/nodes/{node}/")

    page.get_by_role("button", name=re.compile("Re-check")).first.click()

    expect(page.get_by_role("main")).to_contain_text(re.compile("measured", re.IGNORECASE), timeout=90_000)
