"""What a tick begins when the plan names offline items, and that it does not wait for it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from readiness_agent.commands import tick
from readiness_agent.config import Config, Paths, save_config, save_token
from tests.agents.portals import PLAN, Asked, LoopbackPortal, Reply, accept


def node(tmp_path: Path, portal: LoopbackPortal, *, allowed: bool) -> Path:
    """The home of an enrolled node."""
    home = tmp_path / "home"
    paths = Paths(str(home / "agent.json"), str(home / "token"), str(home / "state"))
    save_config(paths, Config(portal=portal.url, hostname="gpu001", allow_disruptive=allowed))
    save_token(paths.token, "cs_agent_key_secret")
    return home


def answer(asked: Asked) -> Reply:
    """A plan with an offline item, and a claim for whoever asks for one."""
    if asked.path.endswith("/plan"):
        return Reply.of_json(200, {**PLAN, "offline": ["object-store-upload", "no-such-item"]}, ETag='"plan-1.2"')
    if asked.path.endswith("/claim"):
        return Reply.of_json(201, {"seconds": 1800}) if asked.method == "POST" else Reply(204)
    return accept(asked)


def claims(portal: LoopbackPortal) -> list[Asked]:
    return [asked for asked in portal.asked if asked.path.endswith("/claim")]


def wait_for_offline_report(portal: LoopbackPortal) -> dict[str, object]:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = [report for report in portal.reports() if report["cadence"] == "offline"]
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("no offline report came")


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the tests keeps its priority, and measures nothing in its ticks."""
    monkeypatch.setattr("readiness_agent.agent.be_quiet", lambda config: None)
    monkeypatch.setattr("readiness_agent.commands.tick.load_probes", lambda: ())


@pytest.mark.usefixtures("quiet")
def test_a_tick_takes_the_node_for_what_the_plan_names_and_a_second_one_does_not_again(tmp_path: Path) -> None:
    portal = LoopbackPortal()
    portal.answer = answer
    home = node(tmp_path, portal, allowed=True)

    assert tick.main(["--home", str(home)]) == 0
    report = wait_for_offline_report(portal)
    assert tick.main(["--home", str(home)]) == 0
    time.sleep(0.3)
    portal.close()

    assert [json.loads(asked.body)["items"] for asked in claims(portal)] == [["object-store-upload"]]
    assert report["covered"] == ["object-store-upload"]
    assert "agent.json names no s3_endpoint" in json.dumps(report["problems"])


@pytest.mark.usefixtures("quiet")
def test_a_node_that_allows_nothing_takes_nothing(tmp_path: Path) -> None:
    portal = LoopbackPortal()
    portal.answer = answer
    home = node(tmp_path, portal, allowed=False)

    assert tick.main(["--home", str(home)]) == 0
    time.sleep(0.3)
    portal.close()

    assert claims(portal) == []
    assert (home / "state").exists()
