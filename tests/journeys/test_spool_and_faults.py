"""Parts fail while nodes push and schedulers ask: no report is lost or counted twice, and no answer is a false yes."""

import gzip
import json
import os
import statistics
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.journeys.pages import sign_in
from tests.journeys.relay import Relay
from tests.journeys.running import RunningPortal
from tests.journeys.sound import PROFILE, Sound, facts_of_a_tuned_node
from tests.journeys.user import Agent, ClusterOfMine, Portal, seconds_since_its_boot, wait_for

pytestmark = pytest.mark.xdist_group("faults")

INTERVAL_S = 5
STALE_AFTER_S = 3 * INTERVAL_S
# An agent that failed twice holds its tongue for up to a minute, and for up to two after a third time.
BACK_OFF_S = 150.0


@pytest.fixture(scope="module")
def mine(own_portal: RunningPortal) -> ClusterOfMine:
    """A cluster of the portal that these tests kill; its evidence ages within seconds."""
    return own_portal.portal.cluster("faults", profile=PROFILE, interval=str(INTERVAL_S))


@pytest.fixture
def relay(own_portal: RunningPortal) -> Iterator[Relay]:
    between = Relay(own_portal.portal)
    yield between
    between.close()


@pytest.fixture
def node(agent: Agent, mine: ClusterOfMine, relay: Relay) -> Agent:
    """An enrolled agent that talks to the portal through the relay."""
    done = agent.enrol(replace(mine.portal, url=relay.url), mine.enrolment_token, f"node-{uuid.uuid4().hex[:8]}")
    assert done.returncode == 0, done.stderr
    return agent


def hostname_of(agent: Agent) -> str:
    return str(json.loads((agent.home / "agent.json").read_text())["hostname"])


def deliver_all(agent: Agent) -> dict[str, Any]:
    """Tick as cron would until nothing waits any more; what the last tick said."""
    said: list[dict[str, Any]] = []

    def nothing_waits() -> bool:
        said.append(agent.tick())
        return bool(said[-1]["waiting"] == 0 and said[-1]["sent"])

    wait_for("the spool empties", nothing_waits, seconds=BACK_OFF_S)
    return said[-1]


# The portal ends in the middle ----------------------------------------------------------------------------------------


def test_a_portal_killed_after_it_took_a_report_takes_it_once(
    own_portal: RunningPortal, mine: ClusterOfMine, relay: Relay, node: Agent, page: Page
) -> None:
    relay.lose_the_answer(own_portal.kill)

    lost = node.tick()
    own_portal.start()
    deliver_all(node)

    assert (lost["sent"], lost["waiting"]) == (0, 2)
    taken = Counter(answer["report_id"] for answer in relay.answers if not answer["duplicate"])
    assert set(taken.values()) == {1}
    first = relay.answers[0]["report_id"]
    assert [answer["duplicate"] for answer in relay.answers if answer["report_id"] == first] == [False, True]
    assert no_change_is_told_twice(page, mine, hostname_of(node))


def no_change_is_told_twice(page: Page, cluster: ClusterOfMine, hostname: str) -> bool:
    """Each first verdict of an item stands once in what the node's page says happened."""
    sign_in(page, cluster.portal)
    page.goto(f"{cluster.portal.url}/clusters/{cluster.slug}/nodes/{hostname}/")
    lines = page.locator("section[aria-labelledby=tl] li").all_inner_texts()
    assert lines
    return len(lines) == len(set(lines))


def test_a_portal_killed_in_the_middle_of_a_report_has_none_of_it(
    own_portal: RunningPortal, relay: Relay, node: Agent
) -> None:
    relay.cut_the_body(own_portal.kill)

    cut = node.tick()
    own_portal.start()
    deliver_all(node)

    assert (cut["sent"], cut["waiting"]) == (0, 2)
    assert not any(answer["duplicate"] for answer in relay.answers)


def test_while_the_portal_is_away_reports_wait_and_then_go_oldest_first(
    own_portal: RunningPortal, relay: Relay, node: Agent
) -> None:
    node.tick()  # gets the plan
    own_portal.stop()
    ticks = []
    for _ in range(3):
        time.sleep(INTERVAL_S)
        ticks.append(node.tick())  # which asserts exit 0
    own_portal.start()
    seen = len(relay.reports)
    deliver_all(node)

    assert [tick["sent"] for tick in ticks] == [0, 0, 0]
    assert [tick["waiting"] for tick in ticks] == [1, 2, 3]
    sent = [report["clock"]["boottime"] for report in relay.reports[seen:]]
    assert len(sent) > 3
    assert sent == sorted(sent)
    assert not any(answer["duplicate"] for answer in relay.answers)


# Reports that nobody takes --------------------------------------------------------------------------------------------


def with_an_unknown_field(body: bytes) -> bytes:
    return gzip.compress(json.dumps(json.loads(gzip.decompress(body)) | {"ready": True}).encode())


def test_a_report_that_the_portal_refuses_is_set_aside_and_the_next_one_tells_of_it(relay: Relay, node: Agent) -> None:
    relay.spoil_the_next(with_an_unknown_field)

    first = node.tick()
    time.sleep(INTERVAL_S)
    node.tick()

    assert (first["sent"], first["waiting"]) == (1, 0)
    kept = [path.name.partition("-")[2] for path in (node.home / "state" / "bad").iterdir()]
    assert kept == [relay.reports[0]["report_id"]]
    assert [report["lost"]["bad"] for report in relay.reports][:3] == [0, 0, 1]
    assert relay.answers[0]["status"] == 422


@pytest.fixture
def full_disk(node: Agent) -> Iterator[Callable[[], None]]:
    """The node's spool lies on a disk without room; the function gives room again.

    A file system of its own where that may be mounted, a file in the place of the directory elsewhere.
    """
    spool = node.home / "state" / "spool"
    spool.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(spool)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        spool.rmdir()
        spool.write_text("a file where the directory should be")

    def give_room() -> None:
        if mounted.returncode == 0 and os.path.ismount(spool):
            subprocess.run(["umount", str(spool)], check=True)
        elif spool.is_file():
            spool.unlink()

    yield give_room
    give_room()


def test_a_full_disk_delivers_from_memory_and_tells_of_what_was_lost(
    own_portal: RunningPortal, relay: Relay, node: Agent, full_disk: Callable[[], None]
) -> None:
    delivered = node.tick()
    assert delivered["sent"] == len(delivered["reports"]) == 2
    assert "spool unwritable" in delivered["stderr"]

    with own_portal.frozen("postgres"):
        time.sleep(INTERVAL_S)
        lost = node.tick()
    assert (lost["sent"], len(lost["reports"]), lost["waiting"]) == (0, 1, 0)
    full_disk()
    time.sleep(INTERVAL_S)
    deliver_all(node)

    assert sum(report["lost"]["spool"] for report in relay.reports) == 1


def test_of_two_ticks_that_cron_starts_at_once_one_measures(node: Agent, relay: Relay) -> None:
    command, environment = node.command("tick", "--json"), node.environment
    ticks = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [tick.communicate(timeout=60)[0] for tick in ticks]

    assert [tick.returncode for tick in ticks] == [0, 0, 0, 0]
    assert len([one for one in said if one.strip() and json.loads(one)["reports"]]) == 1
    assert sorted(report["cadence"] for report in relay.reports) == ["daily", "tick"]


# What stands behind the portal stands still ---------------------------------------------------------------------------


@pytest.fixture
def sound(mine: ClusterOfMine) -> Sound:
    return Sound(mine, f"sound-{uuid.uuid4().hex[:8]}", facts_of_a_tuned_node()).become_ready()


def seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def test_with_valkey_frozen_pushes_and_the_gate_go_on_as_fast(own_portal: RunningPortal, sound: Sound) -> None:
    with own_portal.frozen("valkey"):
        pushes = [seconds(lambda: sound.push("tick", sound.tick)) for _ in range(5)]
        answers = [seconds(lambda: sound.cluster.gate(nodes=sound.node.hostname)) for _ in range(5)]
        assert sound.decision == "ready"

    assert statistics.median(pushes) < 1
    assert statistics.median(answers) < 1


def test_with_the_database_frozen_the_gate_is_unknown_within_seconds_and_right_again_afterwards(
    own_portal: RunningPortal, sound: Sound
) -> None:
    ask = sound.cluster.ask_gate
    with own_portal.frozen("postgres"):
        began = time.monotonic()
        with ThreadPoolExecutor(16) as callers:
            herd = list(callers.map(lambda _: ask(nodes=sound.node.hostname), range(16)))
        herd_s = time.monotonic() - began
        began = time.monotonic()
        pushed = sound.node.push(sound.node.report(sound.facts, covered=sound.tick))
        push_s = time.monotonic() - began

    assert {(answer.status, answer.json["decision"]) for answer in herd} == {(503, "unknown")}
    assert herd_s < 12  # sixteen callers and eight threads, on a machine that others use
    assert (pushed.status, pushed.json["code"]) == (503, "database_unavailable")
    assert push_s < 8

    wait_for("the portal takes reports again", lambda: pushes_again(sound), seconds=10)
    assert sound.decision == "ready"


def pushes_again(sound: Sound) -> bool:
    report = sound.node.report([fact for fact in sound.facts if fact["item"] in sound.tick], covered=sound.tick)
    return sound.node.push(report).status == 202


# Clocks ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hasty(portal: Portal) -> ClusterOfMine:
    return portal.cluster("clocks", profile=PROFILE, interval=str(INTERVAL_S))


@pytest.mark.parametrize("skew_s", [-3600, 3600])
def test_a_node_whose_clock_is_an_hour_off_goes_stale_by_the_portals_clock(hasty: ClusterOfMine, skew_s: int) -> None:
    node = Sound(hasty, f"skewed{skew_s}", facts_of_a_tuned_node())
    wrong = datetime.fromtimestamp(time.time() + skew_s, UTC).isoformat()
    clock = {
        "unix": time.time() + skew_s, "boottime": seconds_since_its_boot(), "ntp_offset_ms": None,
        "synced": None,
    }  # fmt: skip
    for cadence, covered in (("daily", node.daily), ("tick", node.tick)):
        node.push(cadence, covered, clock=clock, started_at=wrong, finished_at=wrong)
    reported = time.monotonic()
    assert node.decision == "ready"

    while node.decision == "ready":
        time.sleep(0.25)
    assert abs(time.monotonic() - reported - STALE_AFTER_S) < 5
    assert {reason["code"] for reason in node.answer["reasons"]} == {"stale"}


def test_a_report_of_yesterday_fills_history_and_makes_nothing_fresh(hasty: ClusterOfMine) -> None:
    node = Sound(hasty, "over-midnight", facts_of_a_tuned_node())
    since_midnight = time.time() % 86400
    yesterday = {"Report-Age": str(since_midnight + 60)}
    old = {cadence: node.node.report(node.facts, covered=covered, cadence=cadence)
           for cadence, covered in (("tick", node.tick), ("daily", node.daily))}  # fmt: skip

    for report in old.values():
        assert node.node.push(report, headers=yesterday).status == 202
    assert node.decision == "unknown"
    node.become_ready()
    for report in old.values():  # once more, after today's
        assert node.node.push(report, headers=yesterday).json["duplicate"] is True
    assert node.decision == "ready"


def test_tables_for_the_next_midnights_are_there(portal: Portal) -> None:
    (line,) = [line for line in portal.manage("status").splitlines() if line.startswith("partitions")]

    until = datetime.fromisoformat(line.split()[-1])
    assert (until - datetime.now(UTC)).days >= 13
