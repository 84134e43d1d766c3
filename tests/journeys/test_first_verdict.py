"""A newcomer starts the portal, and it tells the truth about the machine that it runs on."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.pages import sign_in
from tests.journeys.user import Agent, Portal

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


def enrolled_here(portal: Portal, agent: Agent, slug: str, profile: str) -> dict[str, dict[str, Any]]:
    """Verdicts of this very machine, enrolled once more under another hardware profile, by item."""
    cluster = portal.cluster(slug, profile=profile)
    enrolled = agent("enroll", "--portal", portal.url, "--token-file", "-", stdin=cluster.enrolment_token)
    assert enrolled.returncode == 0, enrolled.stderr
    checked = agent("check", "--json")
    assert checked.returncode == 1, checked.stderr  # something fails: nobody tuned this machine
    return {line["item"]: line for line in json.loads(checked.stdout)["verdicts"]}


def test_a_bare_metal_machine_that_hides_its_cpu_frequency_is_unknown(portal: Portal, agent: Agent) -> None:
    if Path("/sys/devices/system/cpu/cpu0/cpufreq").exists():
        pytest.skip("this machine shows its CPU frequency")
    verdicts = enrolled_here(portal, agent, "metal", "no-gpu")

    assert verdicts["cpu-governor"]["verdict"] == "unknown"
    assert verdicts["gpu-present"]["verdict"] == "na"


def test_a_gpu_node_without_its_gpus_fails(portal: Portal, agent: Agent) -> None:
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has NVIDIA GPUs")
    verdicts = enrolled_here(portal, agent, "gpus-expected", "8xh100")

    assert verdicts["gpu-present"]["verdict"] == "fail"
    assert verdicts["gpu-ecc"]["verdict"] == "unknown"
