"""Each part of the portal is killed; it is started again, and the gate tells the truth or *unknown* meanwhile."""

import os
import re
import signal
import time
from contextlib import suppress

import pytest

from tests.journeys.running import RunningPortal
from tests.journeys.sound import PROFILE, Sound, facts_of_a_tuned_node
from tests.journeys.user import Portal, wait_for

pytestmark = pytest.mark.xdist_group("killed-parts")

# Signs of life come each 30 seconds, and a part that died is started again after one.
WELL_AGAIN_S = 100
ALLOWED = {"ready", "unknown"}


@pytest.fixture(scope="module")
def node(own_portal: RunningPortal) -> Sound:
    return Sound(
        own_portal.portal.cluster("killed", profile=PROFILE), "goes-on", facts_of_a_tuned_node()
    ).become_ready()


def decision(node: Sound) -> str:
    """What the gate says; no answer at all is what a scheduler takes for *unknown*, too."""
    try:
        return str(node.cluster.ask_gate(nodes=node.node.hostname).json["decision"])
    except OSError:
        return "unknown"


def ages(portal: Portal) -> dict[str, float]:
    """How old each sign of life is, in seconds, as ``manage.py status`` prints it."""
    return {
        name: float(age) for name, age in re.findall(r"^(\w+) +\w+ +(\d+) s$", portal.manage("status"), re.MULTILINE)
    }


@pytest.mark.parametrize("part", ["granian", "postgres", "valkey-server", "worker", "beat"])
def test_a_part_that_is_killed_comes_back_and_nothing_false_is_said(
    own_portal: RunningPortal, node: Sound, part: str
) -> None:
    pids = own_portal.processes(part)
    assert pids
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    killed_at = time.monotonic()

    said: set[str] = set()

    def serves_again() -> bool:
        said.add(decision(node))
        report = node.node.report([fact for fact in node.facts if fact["item"] in node.tick], covered=node.tick)
        with suppress(OSError):
            return node.node.push(report).status == 202 and bool(set(own_portal.processes(part)) - set(pids))
        return False

    wait_for(f"the portal serves without the {part} that was killed", serves_again, seconds=60)
    wait_for("the gate answers", lambda: decision(node) == "ready", seconds=10)
    assert said <= ALLOWED

    def both_live() -> bool:
        now, found = time.monotonic(), ages(own_portal.portal)
        return all(found.get(name, 1e9) < now - killed_at - 5 for name in ("worker", "beat"))

    wait_for("worker and beat give a sign of life since then", both_live, seconds=WELL_AGAIN_S)
