"""What two real H200s said is replayed into the portal: the board and the gate draw the right conclusions.

Expected verdicts were read by eye from the files of the capture (its README names them too).
"""

import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.pages import sign_in
from tests.journeys.user import Agent, ClusterOfMine, Portal

NODE = "h200-01"
FAILS = {
    "sysctl-netdev-backlog": 1000,
    "sysctl-swappiness": 60,
    "sysctl-somaxconn": 4096,
    "sysctl-syn-backlog": 4096,
    "ulimit-nofile": 20000,
}
PASSES = [
    "gpu-present",
    "gpu-ecc",
    "gpu-pcie-width",
    "gpu-fabric",
    "persistence-mode",
    "sysctl-file-max",
    "ulimit-memlock",
]
NEED_LOAD = ["gpu-temperature", "gpu-clock-throttle", "gpu-pcie-generation"]
NOT_APPLICABLE = ["cpu-governor", "numa-binding"]


@pytest.fixture(scope="module")
def cluster(portal: Portal) -> ClusterOfMine:
    return portal.cluster("hopper", profile="2xh200-virtual")


@pytest.fixture(scope="module")
def replayed(
    portal: Portal, cluster: ClusterOfMine, shared_captures: Path, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """`readiness-agent replay ../shared/captures/h200x2`, after enrolling as a replayed node."""
    home = tmp_path_factory.mktemp("h200") / "agent"
    home.mkdir(mode=0o700)
    agent = Agent(home)
    enrolled = agent(
        "enroll",
        "--portal",
        portal.url,
        "--token-file",
        "-",
        "--origin",
        "replay",
        "--hostname",
        NODE,
        stdin=cluster.enrolment_token,
    )
    assert enrolled.returncode == 0, enrolled.stderr
    done = agent("replay", str(shared_captures / "h200x2"))
    assert done.returncode == 0, done.stderr
    return done


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, set[str]]:
    """Verdicts of each item as the agent printed them."""
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        verdict, item = line.split()[:2]
        found.setdefault(item, set()).add(verdict.lower())
    return found


@pytest.mark.parametrize("item", PASSES)
def test_what_is_sound_passes(replayed: subprocess.CompletedProcess[str], item: str) -> None:
    assert verdicts(replayed)[item] == {"pass"}


@pytest.mark.parametrize("item", NOT_APPLICABLE)
def test_what_a_virtual_machine_cannot_have_does_not_apply(
    replayed: subprocess.CompletedProcess[str], item: str
) -> None:
    assert verdicts(replayed)[item] == {"na"}


@pytest.mark.parametrize("item", NEED_LOAD)
def test_thirty_five_seconds_of_load_prove_nothing_yet(replayed: subprocess.CompletedProcess[str], item: str) -> None:
    lines = [line for line in replayed.stdout.splitlines() if item in line.split()[:2]]

    assert verdicts(replayed)[item] == {"unknown"}
    assert len(lines) == 2
    assert all("loaded 35 s of 300" in line for line in lines)


@pytest.mark.parametrize("item", FAILS)
def test_the_gate_names_what_fails_with_the_value_measured(
    cluster: ClusterOfMine, replayed: subprocess.CompletedProcess[str], item: str
) -> None:
    answer = cluster.gate(nodes=NODE)
    reasons = {reason["item"]: reason for reason in answer["reasons"]}

    assert answer["decision"] == "not_ready"
    assert reasons[item]["verdict"] == "fail"
    assert reasons[item]["value"] == FAILS[item]


def test_an_idle_gpu_does_not_stop_node_health(
    cluster: ClusterOfMine, replayed: subprocess.CompletedProcess[str]
) -> None:
    reasons = {reason["item"] for reason in cluster.gate(nodes=NODE)["reasons"]}

    assert not reasons & {*NEED_LOAD, *PASSES, *NOT_APPLICABLE}


def test_a_clock_that_was_not_captured_is_unknown_and_not_absent(
    replayed: subprocess.CompletedProcess[str],
) -> None:
    assert verdicts(replayed)["clock-sync"] == {"unknown"}
    assert re.search(r"clock-sync\s+not_captured", replayed.stdout)


def test_the_board_shows_the_same_and_says_that_it_is_a_replay(
    portal: Portal, cluster: ClusterOfMine, replayed: subprocess.CompletedProcess[str], page: Page
) -> None:
    sign_in(page, portal)
    page.goto(f"{portal.url}/clusters/{cluster.slug}/nodes/{NODE}/")

    main = page.get_by_role("main")
    expect(main).to_contain_text(re.compile("replayed", re.IGNORECASE))
    expect(main).to_contain_text("loaded 35 s of 300")
    expect(main).to_contain_text("20,000")
