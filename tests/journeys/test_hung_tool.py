"""A tool of the node that hangs costs its own items, and nothing else: no other item, no next tick, no process."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.sound import PROFILE
from tests.journeys.user import Agent, ClusterOfMine, Portal

pytestmark = pytest.mark.xdist_group("hung-tool")

CEILING_S = 20.0
INTERVAL_S = 5

# Each notes that it was started, and that another copy of it was still there.
BEGIN = """#!/bin/sh
for other in $(cat "{notes}/started" 2>/dev/null); do kill -0 "$other" 2>/dev/null && touch "{notes}/twice"; done
echo $$ >> "{notes}/started"
"""
HANG = "while :; do sleep 1; done"
TOOLS = {
    "ignores-term": f"trap '' TERM\n{HANG}",
    "stopped": f"kill -STOP $$\n{HANG}",
    # Out of the tool's session, parent and process group, its output in hand.
    "double-forks": f'(setsid sh -c \'echo $$ >> "{{notes}}/started"; trap "" TERM HUP; {HANG}\' &)\n{HANG}',
}


@dataclass(frozen=True, slots=True)
class HungTool:
    """``nvidia-smi`` on an agent's PATH, which never answers."""

    place: Path
    agent: Agent
    hostname: str

    @property
    def started(self) -> list[int]:
        notes = self.place / "started"
        return [int(line) for line in notes.read_text().split()] if notes.exists() else []

    @property
    def living(self) -> list[int]:
        """Those of its processes that are still there."""
        return [pid for pid in self.started if not _is_gone(pid)]

    @property
    def ran_twice_at_once(self) -> bool:
        return (self.place / "twice").exists()


def _is_gone(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@dataclass(frozen=True, slots=True)
class Ticked:
    """A tick with a hung tool, another one that cron started meanwhile, and the next one."""

    tool: HungTool
    seconds: float
    exit_status: int
    overlapping: dict[str, Any]
    left_behind: list[int]
    reasons: dict[str, dict[str, Any]]
    started_by_first: int
    following: dict[str, Any]


@pytest.fixture(scope="module")
def all_ticked(portal: Portal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ticked]]:
    """What came of each kind, on three nodes at the same time.

    Processes of the tools that are left in the end are ended by their ids.
    """
    cluster = portal.cluster("hung", profile=PROFILE, interval=str(INTERVAL_S))
    tools = {kind: _hung_tool(kind, tmp_path_factory.mktemp("hung"), cluster) for kind in TOOLS}
    try:
        with ThreadPoolExecutor(len(tools)) as nodes:
            yield dict(zip(tools, nodes.map(partial(_tick, cluster=cluster), tools.values()), strict=True))
    finally:
        for pid in [pid for tool in tools.values() for pid in tool.living]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(params=sorted(TOOLS))
def ticked(request: pytest.FixtureRequest, all_ticked: dict[str, Ticked]) -> Ticked:
    return all_ticked[request.param]


def _hung_tool(kind: str, place: Path, cluster: ClusterOfMine) -> HungTool:
    home, tools = place / "agent", place / "tools"
    home.mkdir(mode=0o700)
    tools.mkdir()
    agent = Agent(home, tools)
    enrolled = agent.enrol(cluster.portal, cluster.enrolment_token, f"with-{kind}")
    assert enrolled.returncode == 0, enrolled.stderr
    script = tools / "nvidia-smi"
    script.write_text((BEGIN + TOOLS[kind]).format(notes=place) + "\n")
    script.chmod(0o755)
    return HungTool(place, agent, f"with-{kind}")


def _tick(tool: HungTool, *, cluster: ClusterOfMine) -> Ticked:
    began = time.monotonic()
    tick = tool.agent.start("tick")
    while not tool.started:
        assert tick.poll() is None, "the tool was never started: this would prove nothing"
        time.sleep(0.05)
    overlapping = tool.agent.tick()
    exit_status = tick.wait(2 * CEILING_S)
    seconds, left_behind, started = time.monotonic() - began, tool.living, len(tool.started)
    reasons = {reason["item"]: reason for reason in cluster.gate(nodes=tool.hostname)["reasons"]}
    time.sleep(INTERVAL_S)
    following = tool.agent.tick()
    return Ticked(tool, seconds, exit_status, overlapping, left_behind, reasons, started, following)


def test_the_tick_ends_within_its_ceiling(ticked: Ticked) -> None:
    assert ticked.exit_status == 0
    assert ticked.seconds < CEILING_S


def test_the_items_of_the_tool_are_unknown_because_it_hung(ticked: Ticked) -> None:
    found = ticked.reasons["gpu-ecc"]

    assert (found["verdict"], found["code"]) == ("unknown", "hung")


def test_every_other_item_is_measured(ticked: Ticked) -> None:
    # A setting of the kernel is there on every machine, whatever it is set to; what passes is no reason.
    found = ticked.reasons.get("sysctl-somaxconn", {"verdict": "pass"})

    assert found["verdict"] in {"pass", "fail"}, found


def test_nothing_of_the_tool_is_left(ticked: Ticked) -> None:
    assert ticked.left_behind == []


def test_a_tick_that_cron_starts_meanwhile_measures_nothing(ticked: Ticked) -> None:
    assert ticked.overlapping.get("reports", []) == []


def test_the_tool_never_runs_twice_at_once(ticked: Ticked) -> None:
    assert ticked.following["reports"]
    assert len(ticked.tool.started) > ticked.started_by_first
    assert not ticked.tool.ran_twice_at_once
