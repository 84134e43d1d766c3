"""When a node tells what it is set to: where the plan asks for it, and only what changed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.agent import Agent
from readiness_agent.config import Paths
from readiness_agent.plan import Plan, checked_plan
from readiness_agent.ticking import Tick, TickResult
from tests.agents.conftest import uptime_probe
from tests.agents.portals import PLAN, Asked, LoopbackPortal, Reply, accept

PATH = "/api/v1/agent/fingerprint"
ONE = uptime_probe("fast", "one")

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def tick(paths: Paths) -> TickResult:
    return Tick(Agent(paths), lambda: (ONE,), spread=0.0).run()


def told(portal: LoopbackPortal) -> list[dict[str, Any]]:
    """What was said about settings, in order."""
    return [json.loads(gzip.decompress(asked.body)) for asked in portal.asked if asked.path == PATH]


def asking(portal: LoopbackPortal, *, wanted: bool = True, **plan: Any) -> None:
    """Let the portal ask for fingerprints, and want the first one in full."""

    def answer(asked: Asked) -> Reply:
        if asked.method == "GET":
            return Reply.of_json(200, {**PLAN, "daily": [], "fingerprint": 3600, **plan}, ETag='"plan-2"')
        if asked.path == PATH:
            is_whole = "settings" in json.loads(gzip.decompress(asked.body))
            return Reply.of_json(200, {"wanted": wanted and not is_whole})
        return accept(asked)

    portal.answer = answer


def forget(paths: Paths, *events: str) -> None:
    """As if that had been long ago."""
    path = Path(paths.in_state("state.json"))
    state = json.loads(path.read_text())
    for event in events:
        state["moments"].pop(event, None)
    path.write_text(json.dumps(state))


def test_a_portal_that_does_not_ask_is_told_nothing(enrolled: Paths, portal: LoopbackPortal) -> None:
    tick(enrolled)

    assert told(portal) == []


def test_the_digest_goes_first_and_the_settings_where_they_are_wanted(enrolled: Paths, portal: LoopbackPortal) -> None:
    asking(portal)

    assert tick(enrolled).messages == []

    short, whole = told(portal)
    assert set(short) == {"schema", "sha256"}
    assert set(whole) == {"schema", "sha256", "kinds", "settings"}
    assert whole["sha256"] == short["sha256"]


def test_settings_that_are_known_there_are_not_sent(enrolled: Paths, portal: LoopbackPortal) -> None:
    asking(portal, wanted=False)

    tick(enrolled)

    assert [set(one) for one in told(portal)] == [{"schema", "sha256"}]


def test_within_the_hour_nothing_is_read(enrolled: Paths, portal: LoopbackPortal) -> None:
    asking(portal)
    tick(enrolled)
    portal.asked.clear()

    tick(enrolled)

    assert told(portal) == []


def test_an_hour_later_nothing_is_said_where_nothing_changed(enrolled: Paths, portal: LoopbackPortal) -> None:
    asking(portal)
    tick(enrolled)
    forget(enrolled, "fingerprint")
    portal.asked.clear()

    tick(enrolled)

    assert told(portal) == []


def test_a_day_later_it_is_said_that_nothing_changed(enrolled: Paths, portal: LoopbackPortal) -> None:
    asking(portal, wanted=False)
    tick(enrolled)
    forget(enrolled, "fingerprint", "fingerprint_told")
    portal.asked.clear()

    tick(enrolled)

    assert len(told(portal)) == 1


def test_a_portal_that_refuses_is_said_in_the_log_and_costs_no_report(enrolled: Paths, portal: LoopbackPortal) -> None:
    asking(portal)
    asks = portal.answer
    portal.answer = lambda asked: Reply.of_json(404, {}) if asked.path == PATH else asks(asked)

    result = tick(enrolled)

    assert result.sent == 1
    assert result.messages == ["settings not told: the portal did not take them"]


def test_a_setting_that_the_plan_names_is_read_with_the_tick(enrolled: Paths, portal: LoopbackPortal) -> None:
    named = [{"item": "setting-swappiness", "name": "sysctl:vm.swappiness"}]
    asking(portal, tick=["one", "setting-swappiness"], settings=named)

    tick(enrolled)

    (report,) = portal.reports()
    assert report["covered"] == ["one", "setting-swappiness"]
    fact = next(fact for fact in report["facts"] if fact["item"] == "setting-swappiness")
    assert (fact["name"], fact["value"], fact["unit"]) == (
        "value", Path("/proc/sys/vm/swappiness").read_text().strip(), "text",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["sysctl:../../etc/hostname", "sysctl:kernel.random.uuid", "file:/etc/hostname", "x"])
def test_a_name_that_leads_elsewhere_is_not_read(enrolled: Paths, portal: LoopbackPortal, name: str) -> None:
    asking(portal, tick=["one", "setting-x"], daily=["setting-x"], settings=[{"item": "setting-x", "name": name}])

    tick(enrolled)

    for report in portal.reports():
        assert not [fact for fact in report["facts"] if fact["item"] == "setting-x"]
    assert {problem["item"] for report in portal.reports() for problem in report["problems"]} == {"setting-x"}


def test_a_plan_keeps_settings_and_nothing_odd() -> None:
    odd: list[Any] = [
        5,
        {"item": 1, "name": "a:b"},
        {"item": "x" * 65, "name": "a:b"},
        {"item": "a", "name": "b" * 201},
    ]
    plan = checked_plan({"settings": [*odd, {"item": "a", "name": "sysctl:b"}], "fingerprint": 5})

    assert plan is not None
    assert (plan.settings, plan.fingerprint) == ((("a", "sysctl:b"),), 3600.0)
    assert checked_plan(plan.as_sent()) == plan
    assert Plan().fingerprint == 0.0
