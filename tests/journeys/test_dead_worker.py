"""A worker that stands still: the portal says so loudly, and the gate answers without it, by the clock."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.pages import sign_in
from tests.journeys.sound import PROFILE, Sound, facts_of_a_tuned_node
from tests.journeys.user import Portal, wait_for

LOUD_WITHIN_S = 180
QUIET_AGAIN_WITHIN_S = 90


@pytest.fixture
def stop_worker(portal: Portal) -> Iterator[Callable[[], int]]:
    """Stops the portal's worker with SIGSTOP, by its process id; it goes on after the test, whatever happened."""
    stopped: list[int] = []

    def stop() -> int:
        stopped.append(_worker_of(portal))
        os.kill(stopped[0], signal.SIGSTOP)
        return stopped[0]

    yield stop
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


def _worker_of(portal: Portal) -> int:
    """The process that leads the worker of *portal*, as ``ps`` shows it."""
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and _is_worker(place, portal) and os.getpgid(int(place.name)) == int(place.name):
            return int(place.name)
    raise AssertionError(f"no worker runs for {portal.var}")


def _is_worker(place: Path, portal: Portal) -> bool:
    try:
        arguments = (place / "cmdline").read_bytes().split(b"\0")
        environment = (place / "environ").read_bytes().split(b"\0")
    except OSError:
        return False  # it ended meanwhile, or is another user's
    return {b"celery", b"worker"} <= set(arguments) and f"STATIC_ROOT={portal.var}/static".encode() in environment


def test_a_worker_that_stands_still_is_told_within_three_minutes_and_leaves_no_old_ready_behind(
    portal: Portal, page: Page, stop_worker: Callable[[], int]
) -> None:
    node = Sound(portal.cluster("standstill", profile=PROFILE, interval="5"), "still-01", facts_of_a_tuned_node())
    sign_in(page, portal)
    expect(page.get_by_role("alert")).to_have_count(0)

    pid = stop_worker()
    stopped_at = time.monotonic()
    node.become_ready()  # the gate needs no worker to say yes ...
    wait_for("evidence ages", lambda: node.decision == "unknown", seconds=30)  # ... nor to take it back
    assert {reason["code"] for reason in node.answer["reasons"]} == {"stale"}

    # The board was left open: it says so by itself.
    loud = page.get_by_role("alert").filter(has_text="No sign of life from")
    expect(loud).to_contain_text("Worker", timeout=1000 * LOUD_WITHIN_S)
    assert time.monotonic() - stopped_at < LOUD_WITHIN_S
    page.goto(f"{portal.url}/status")
    expect(page.locator(".answer .a")).to_have_text("No")
    expect(page.locator(".answer .why")).to_contain_text("Worker")

    os.kill(pid, signal.SIGCONT)
    page.goto(portal.url)
    expect(loud).to_have_count(0, timeout=1000 * QUIET_AGAIN_WITHIN_S)
    node.push("tick", node.tick)
    assert node.decision == "ready"
