"""Where nothing can be stored and nobody listens, reports end with their tick: each is counted, and told of later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from readiness_agent.agent import Agent
from readiness_agent.config import Paths
from readiness_agent.ticking import Tick
from tests.agents.conftest import uptime_probe
from tests.agents.portals import LoopbackPortal, Reply, accept

ONE = uptime_probe("fast", "one")

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def tick(enrolled: Paths) -> Callable[[], None]:
    """A tick that measures, whatever was measured a moment ago."""

    def run() -> None:
        agent = Agent(enrolled)
        agent.state.forget("tick")
        Tick(agent, lambda: (ONE,), spread=0.0).run()

    return run


@pytest.fixture
def unwritable_spool(enrolled: Paths) -> Path:
    spool = Path(enrolled.in_state("spool"))
    spool.write_text("a file where the directory should be")
    return spool


def test_what_a_portal_that_is_away_did_not_take_is_told_of_by_the_next_report(
    tick: Callable[[], None], portal: LoopbackPortal, unwritable_spool: Path
) -> None:
    portal.answer = lambda _: Reply(503)
    tick()
    portal.answer = accept
    unwritable_spool.unlink()

    tick()
    tick()

    assert [report["lost"]["spool"] for report in portal.reports()][-2:] == [1, 0]


def test_what_was_measured_while_the_portal_wants_silence_is_told_of_too(
    tick: Callable[[], None], portal: LoopbackPortal, unwritable_spool: Path, enrolled: Paths
) -> None:
    portal.answer = lambda _: Reply(429, headers={"Retry-After": "600"})
    tick()
    asked = len(portal.asked)
    tick()

    assert len(portal.asked) == asked
    assert Agent(enrolled).spool.lost() == {"spool": 2, "bad": 0}
