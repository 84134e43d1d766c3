"""Nodes measure the links between them with the real agent, and the pages name who is to blame.

This machine has no RDMA card: a directory stands for ``/sys/class/infiniband``, and a stand-in for ``ib_write_bw`` that
speaks perftest's language meets its like over loopback. All else is what users run.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.agents.offline.stand_in_perftest import install, make_card
from tests.journeys.forms import Sender
from tests.journeys.user import Agent, ClusterOfMine, Portal, wait_for

pytestmark = pytest.mark.xdist_group("pairs")

ITEM = "rdma-bandwidth"
FAST, SLOW = 391.0, 180.0
#: The agent, with another place for what the kernel shows of RDMA cards.
LAUNCHER = """
import sys
from readiness_agent.offline import perftest
from readiness_agent.probes import rdma_devices

root = sys.argv.pop(1)
rdma_devices.ROOT = perftest.ROOT = root
rdma_devices.PORT_STATES = root + "/*/ports/*/state"
from readiness_agent.cli import main

sys.exit(main())
"""


@dataclass(frozen=True, slots=True)
class CardAgent(Agent):
    """An agent on a node with one RDMA card."""

    def command(self, *arguments: str) -> list[str]:
        launcher, cards = str(self.home.parent / "launch.py"), str(self.home.parent / "cards")
        return [sys.executable, launcher, cards, *arguments]


def cluster_in_its_window(portal: Portal, slug: str) -> ClusterOfMine:
    """A cluster whose window is open around this very minute."""
    made, now = portal.cluster(slug, profile="8xh200", interval="30"), datetime.now(UTC)
    times = [f"{now + timedelta(minutes=minutes):%H:%M}" for minutes in (-10, 90)]
    portal.manage("cluster", "window", "set", slug, *times)
    return made


def viewer_of(cluster: ClusterOfMine) -> Sender:
    """Somebody who may look."""
    said = cluster.portal.manage("person", "add", f"vera-{cluster.slug}", "--role", "viewer", "--cluster", cluster.slug)
    return Sender(cluster.portal, f"vera-{cluster.slug}", said.split()[1]).sign_in()


def node(cluster: ClusterOfMine, place: Path, name: str, rate: float) -> CardAgent:
    """An enrolled node whose card reaches *rate* Gb/s."""
    home = place / name / "home"
    home.mkdir(parents=True, mode=0o700)
    (home.parent / "launch.py").write_text(LAUNCHER)
    make_card(home.parent / "cards", "mlx5_0")
    agent = CardAgent(home, install(home.parent / "bin", rate))
    done = agent.enrol(cluster.portal, cluster.enrolment_token, name)
    assert done.returncode == 0, done.stderr
    settings = json.loads((home / "agent.json").read_text()) | {"allow_disruptive": True, "rdma_address": "127.0.0.1"}
    (home / "agent.json").write_text(json.dumps(settings))
    (home / "agent.json").chmod(0o600)
    return agent


def measure(agents: list[CardAgent]) -> list[subprocess.Popen[bytes]]:
    """Each agent measuring, as by hand on its node."""
    return [agent.start("check", ITEM, "--offline") for agent in agents]


def test_a_bad_card_among_three_nodes_is_named_on_the_pages_and_the_other_two_pass(
    portal: Portal, tmp_path: Path
) -> None:
    cluster = cluster_in_its_window(portal, "pairs")
    viewer = viewer_of(cluster)
    rates = {"link-a": FAST, "link-b": FAST, "link-c": SLOW}
    for running in measure([node(cluster, tmp_path, name, rate) for name, rate in rates.items()]):
        running.wait(timeout=400)

    def told(name: str) -> str:
        return _links(viewer.look(f"/clusters/pairs/{f'nodes/{name}/' if name else ''}").html)

    # While pairs were still to come the schedule may have found suspects; now it has all of them.
    wait_for("the schedule to name one node", lambda: "link-c" in told("") and "link-a" not in told(""), seconds=300)
    assert "link-b" not in told("")
    assert told("link-c").count("link-a") == told("link-c").count("link-b") == 2  # in an address, and as its words


def test_a_partner_that_is_killed_keeps_nobody_waiting_and_leaves_nothing_running(
    portal: Portal, tmp_path: Path
) -> None:
    cluster = cluster_in_its_window(portal, "pairs-killed")
    first, second = measure([node(cluster, tmp_path, f"kill-{letter}", FAST) for letter in "ab"])
    wait_for("both ends to measure", lambda: len(_perftests(tmp_path)) == 2, seconds=120)
    os.kill(second.pid, signal.SIGKILL)
    second.wait(timeout=10)
    begun = time.monotonic()
    wait_for("the killed one's perftest to end", lambda: len(_perftests(tmp_path / "kill-b")) == 0, seconds=6)
    first.wait(timeout=240)

    assert time.monotonic() - begun < 240
    assert _perftests(tmp_path) == []


def _links(page: str) -> str:
    """The part of a page that is about links; empty before there is one."""
    _, begin, rest = page.partition('aria-labelledby="lk"')
    return rest.partition("</section>")[0] if begin else ""


def _perftests(place: Path) -> list[int]:
    """Processes of the stand-ins below *place*."""
    found = []
    for one in Path("/proc").iterdir():
        try:
            line = (one / "cmdline").read_text() if one.name.isdigit() else ""
        except OSError:
            continue
        if f"{place}/" in line and "ib_write_bw\0-d" in line:
            found.append(int(one.name))
    return found
