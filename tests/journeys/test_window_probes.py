"""A node is taken in a window, measured against a store that fails, and given back, whatever happens to its agent."""

import json
import os
import signal
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.agents.offline.s3_server import KEY, SECRET, ObjectStore
from tests.journeys.user import Agent, ClusterOfMine, Portal, wait_for

ITEM = "object-store-upload"


@pytest.fixture(scope="module")
def cluster(portal: Portal) -> ClusterOfMine:
    return portal.cluster("windows", profile="8xh200")


@pytest.fixture
def window(cluster: ClusterOfMine) -> Iterator[None]:
    """A window around this very minute."""
    now = datetime.now(UTC)
    times = [f"{now + timedelta(minutes=minutes):%H:%M}" for minutes in (-10, 60)]
    cluster.portal.manage("cluster", "window", "set", cluster.slug, *times)
    yield
    cluster.portal.manage("cluster", "window", "end", cluster.slug, *times)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    one = ObjectStore()
    yield one
    one.close()


@pytest.fixture
def node(cluster: ClusterOfMine, agent: Agent, store: ObjectStore) -> str:
    """An enrolled node whose own configuration allows what disturbs a job; its name."""
    name = f"node-{uuid.uuid4().hex[:8]}"
    assert agent.enrol(cluster.portal, cluster.enrolment_token, name).returncode == 0
    configure(agent, allow_disruptive=True, s3_endpoint=store.url, s3_bucket="checkpoints")
    return name


def configure(agent: Agent, **settings: object) -> None:
    file = Path(agent.home) / "agent.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    file.chmod(0o600)


def codes(cluster: ClusterOfMine, node: str) -> set[str]:
    return {reason["code"] for reason in cluster.gate(nodes=node)["reasons"]}


def test_outside_of_a_window_nothing_is_measured(cluster: ClusterOfMine, agent: Agent, node: str) -> None:
    done = agent("check", ITEM, "--offline", "--seconds", "2")

    assert done.returncode == 2
    assert "No window of windows is open now" in done.stderr
    assert "measuring" not in codes(cluster, node)


@pytest.mark.usefixtures("window")
def test_a_node_that_does_not_allow_it_is_not_disturbed(
    cluster: ClusterOfMine, agent: Agent, node: str, store: ObjectStore
) -> None:
    configure(agent, allow_disruptive=False)
    done = agent("check", ITEM, "--offline", "--seconds", "2")

    assert done.returncode == 2
    assert "set allow_disruptive to true" in done.stderr
    assert store.requests == []


@pytest.mark.usefixtures("window")
def test_while_it_is_measured_the_gate_is_closed_and_the_report_opens_it(
    cluster: ClusterOfMine, agent: Agent, node: str, store: ObjectStore
) -> None:
    store.fails = lambda number, method: 503 if method == "PUT" and number % 10 == 0 else time.sleep(0.02)
    running = agent.start("check", ITEM, "--offline", "--seconds", "6")
    wait_for("the gate to say measuring", lambda: "measuring" in codes(cluster, node), seconds=20)
    assert cluster.gate(nodes=node)["decision"] == "not_ready"
    running.wait(timeout=60)

    assert "measuring" not in codes(cluster, node)
    told = [status for _, status in store.requests]
    assert told.count(503) > 0
    assert (store.uploads, store.objects) == ({}, {})


@pytest.mark.usefixtures("window")
def test_a_killed_agent_leaves_nothing_running_and_its_claim_ends_by_its_time(
    cluster: ClusterOfMine, agent: Agent, node: str, store: ObjectStore
) -> None:
    store.fails = lambda number, method: time.sleep(0.05)
    running = agent.start("check", ITEM, "--offline", "--seconds", "60")
    wait_for("an upload", lambda: len(store.requests) > 5, seconds=20)
    os.kill(running.pid, signal.SIGKILL)
    running.wait(timeout=10)
    time.sleep(2)
    asked = len(store.requests)
    time.sleep(1)

    assert len(store.requests) == asked
    reasons = {reason["code"]: reason for reason in cluster.gate(nodes=node)["reasons"]}
    end = datetime.fromisoformat(reasons["measuring"]["value"])
    assert timedelta(0) < end - datetime.now(UTC) < timedelta(minutes=4)
