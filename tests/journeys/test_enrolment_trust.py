"""Who may become a node, who may speak for one, and what a portal may tell an agent, tried from outside."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.agents.portals import LoopbackPortal, Reply
from tests.journeys.pages import sign_in
from tests.journeys.sound import PROFILE, Sound, facts_of_a_tuned_node
from tests.journeys.user import Agent, Answer, ClusterOfMine, NodeByHand, Portal

NOBODY = 65534


@pytest.fixture(scope="module")
def cluster(portal: Portal) -> ClusterOfMine:
    return portal.cluster("trust", profile=PROFILE)


def enrolment_token(cluster: ClusterOfMine, *restrictions: str) -> str:
    return cluster.portal.manage("token", "issue", "enrolment", "--cluster", cluster.slug, *restrictions)


def ask(cluster: ClusterOfMine, hostname: str, token: str) -> Answer:
    body = {
        "hostname": hostname, "serials": {}, "boot_id": str(uuid.uuid4()), "agent_version": "by hand", "origin": "live",
    }  # fmt: skip
    return cluster.portal.ask("/api/v1/enroll", token=token, body=body)


def decide(cluster: ClusterOfMine, verb: str, hostname: str) -> str:
    """What a person decides about a node, from the command line."""
    person = cluster.portal.notes["username"]
    return cluster.portal.manage("node", verb, cluster.slug, hostname, "--by", person, "--reason", "seen by me")


# Enrolment tokens -----------------------------------------------------------------------------------------------------


def test_a_token_enrols_hostnames_of_its_pattern_only(cluster: ClusterOfMine) -> None:
    token = enrolment_token(cluster, "--hosts", "gpu-*")

    refused = ask(cluster, "login-1", token)
    assert (refused.status, refused.json["code"]) == (403, "enrolment_refused")
    assert "gpu-*" in refused.json["detail"]
    assert ask(cluster, "gpu-1", token).status == 201


def test_a_token_is_spent_by_its_uses(cluster: ClusterOfMine) -> None:
    token = enrolment_token(cluster, "--uses", "2")

    assert [ask(cluster, f"uses-{number}", token).status for number in range(3)] == [201, 201, 401]


def test_a_token_ends_with_its_time(cluster: ClusterOfMine) -> None:
    token = enrolment_token(cluster, "--hours", "0.0005")  # 1.8 s
    time.sleep(2)

    assert ask(cluster, "too-late", token).status == 401


def test_a_token_is_good_from_its_networks_only(cluster: ClusterOfMine) -> None:
    elsewhere, here = (enrolment_token(cluster, "--network", net) for net in ("10.0.0.0/8", "127.0.0.0/8"))

    assert ask(cluster, "from-elsewhere", elsewhere).status == 401
    assert ask(cluster, "from-here", here).status == 201


def test_every_token_that_does_not_work_is_answered_alike(cluster: ClusterOfMine) -> None:
    elsewhere = enrolment_token(cluster, "--network", "10.0.0.0/8")
    never = "cs_enrol_" + elsewhere.split("_", 2)[2].swapcase()

    answers = [ask(cluster, "whoever", token) for token in (elsewhere, never, cluster.token)]
    assert {(answer.status, answer.json["code"], answer.json["detail"]) for answer in answers} == {
        (401, answers[0].json["code"], answers[0].json["detail"])
    }


# A taken hostname -----------------------------------------------------------------------------------------------------


def test_a_taken_hostname_is_refused_until_a_person_allows_it_and_the_old_token_ends_then(
    cluster: ClusterOfMine,
) -> None:
    first = cluster.enrol("taken")
    again = ask(cluster, "taken", cluster.enrolment_token)
    assert (again.status, again.json["code"]) == (409, "already_enrolled")
    assert first.plan().status == 200

    assert "may enrol again" in decide(cluster, "allow-reenrolment", "taken")
    second = ask(cluster, "taken", cluster.enrolment_token)
    assert second.status == 201
    assert first.plan().status == 401
    assert replace(first, token=second.json["token"]).plan().status == 200


def test_an_allowed_reenrolment_is_allowed_once(cluster: ClusterOfMine) -> None:
    cluster.enrol("once")
    decide(cluster, "allow-reenrolment", "once")

    statuses = [ask(cluster, "once", cluster.enrolment_token).status for _ in range(2)]
    assert statuses == [201, 409]


# Another machine under the same name ----------------------------------------------------------------------------------


@pytest.fixture
def ready_node(cluster: ClusterOfMine) -> Sound:
    """A node that is ready."""
    return Sound(cluster, f"sound-{uuid.uuid4().hex[:8]}", facts_of_a_tuned_node()).become_ready()


def with_serials(node: NodeByHand, **serials: str) -> dict[str, Any]:
    return {"hostname": node.hostname, "boot_id": node.boot_id, "serials": serials}


def test_another_serial_in_a_slot_makes_a_node_unknown_until_a_person_confirms_it(
    cluster: ClusterOfMine, ready_node: Sound
) -> None:
    ready_node.push("tick", ready_node.tick, node=with_serials(ready_node.node, board="A-1"))
    assert ready_node.decision == "ready"
    ready_node.push("tick", ready_node.tick, node=with_serials(ready_node.node))  # none at all is no change
    assert ready_node.decision == "ready"

    ready_node.push("tick", ready_node.tick, node=with_serials(ready_node.node, board="B-2"))
    assert ready_node.decision == "unknown"
    assert "hardware_changed" in {reason["code"] for reason in ready_node.answer["reasons"]}
    ready_node.push("tick", ready_node.tick, node=with_serials(ready_node.node, board="A-1"))
    assert ready_node.decision == "unknown"  # the first one back proves nothing: a person decides

    decide(cluster, "confirm", ready_node.node.hostname)
    ready_node.push("tick", ready_node.tick, node=with_serials(ready_node.node, board="B-2"))
    assert ready_node.decision == "ready"


def test_two_machines_on_one_token_make_the_node_unknown_and_the_page_says_so_loudly(
    cluster: ClusterOfMine, ready_node: Sound, page: Page
) -> None:
    original, clone = ready_node.node.boot_id, str(uuid.uuid4())
    for boot_id in (clone, original):
        ready_node.node.boot_id = boot_id
        ready_node.push("tick", ready_node.tick)

    assert ready_node.decision == "unknown"
    assert "boot_conflict" in {reason["code"] for reason in ready_node.answer["reasons"]}
    sign_in(page, cluster.portal)
    page.goto(f"{cluster.portal.url}/clusters/{cluster.slug}/nodes/{ready_node.node.hostname}/")
    expect(page.get_by_role("alert").filter(has_text="not believed")).to_be_visible()


# What an agent does with a portal that is not what it should be -------------------------------------------------------


@pytest.fixture
def stranger() -> Iterator[LoopbackPortal]:
    """Something that listens where the agent looks for its portal."""
    listening = LoopbackPortal()
    yield listening
    listening.close()


@pytest.fixture
def enrolled(agent: Agent, cluster: ClusterOfMine) -> Agent:
    done = agent.enrol(cluster.portal, cluster.enrolment_token, f"agent-{uuid.uuid4().hex[:8]}")
    assert done.returncode == 0, done.stderr
    return agent


def look_at(agent: Agent, url: str) -> None:
    """What root of the node may write: where the portal is."""
    config = agent.home / "agent.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"portal": url}))


def answering(reply: Reply) -> Callable[[Any], Reply]:
    return lambda _: reply


def test_an_agent_follows_no_redirect_and_keeps_its_report(
    enrolled: Agent, cluster: ClusterOfMine, stranger: LoopbackPortal
) -> None:
    other = LoopbackPortal()
    stranger.answer = answering(Reply(307, b"", {"Location": f"{other.url}/api/v1/reports"}))
    look_at(enrolled, stranger.url)

    said = enrolled.tick()

    other.close()
    assert other.asked == []
    assert (said["sent"], said["waiting"]) == (0, 2)
    assert "redirect" in said["stderr"]


def test_an_enrolment_token_is_not_carried_along_a_redirect(
    agent: Agent, cluster: ClusterOfMine, stranger: LoopbackPortal
) -> None:
    other = LoopbackPortal()
    stranger.answer = answering(Reply(308, b"", {"Location": f"{other.url}/api/v1/enroll"}))

    done = agent.enrol(replace(cluster.portal, url=stranger.url), cluster.enrolment_token, "led-astray")

    other.close()
    assert (done.returncode, other.asked) == (1, [])


def test_a_plan_can_name_no_path_no_command_and_no_unbounded_number(
    enrolled: Agent, stranger: LoopbackPortal, tmp_path: Path
) -> None:
    mark = tmp_path / "made-by-a-plan"
    evil = {
        "schemas": [1], "interval": 0.001, "poll_after": -1, "allow": {"disruptive": True},
        "tick": ["sysctl-somaxconn", "/bin/sh", "../../../etc/passwd", f"touch {mark}"], "daily": [],
        "recheck": [{"id": f"$(touch {mark})", "items": [f"; touch {mark}", "/etc/shadow"]}],
        "command": ["touch", str(mark)], "url": stranger.url, "environment": {"PATH": str(tmp_path)},
    }  # fmt: skip
    served = stranger.answer
    stranger.answer = lambda asked: Reply.of_json(200, evil, ETag='"e"') if asked.method == "GET" else served(asked)
    look_at(enrolled, stranger.url)

    began = time.monotonic()
    assert enrolled.tick()["reports"]

    covered = {item for report in stranger.reports() for item in report["covered"]}
    assert "sysctl-somaxconn" in covered
    assert all(re.fullmatch("[a-z][a-z-]+", item) for item in covered), covered
    assert not mark.exists()
    at_once = enrolled.tick()["reports"]  # an interval of a millisecond is five seconds at least
    assert at_once == [] or time.monotonic() - began >= 5
    assert {asked.path for asked in stranger.asked} == {"/api/v1/agent/plan", "/api/v1/reports"}


def test_a_revoked_token_is_said_and_costs_no_report(enrolled: Agent, cluster: ClusterOfMine) -> None:
    token = (enrolled.home / "token").read_text().strip()
    cluster.portal.manage("token", "revoke", token.split("_")[2])

    said = enrolled.tick()

    assert (said["sent"], said["waiting"]) == (0, 2)
    assert "401" in said["stderr"]
    assert "enrol it again" in said["stderr"]


# An agent that may see less -------------------------------------------------------------------------------------------


@pytest.fixture
def place_of_nobody() -> Iterator[Path]:
    """A directory that an ordinary user owns, reachable for it."""
    with tempfile.TemporaryDirectory(prefix="cs-journey-nobody-") as name:
        place = Path(name)
        place.chmod(0o755)
        home = place / "home"
        home.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(home, NOBODY, NOBODY)
        yield place


def run_as_nobody(place: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The agent as the portal serves it, run by an ordinary user with an ordinary Python."""
    somebody: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    python = next(
        path for path in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable) if Path(path).exists()
    )
    return subprocess.run(
        [python, str(place / "readiness-agent.pyz"), *arguments],
        env={"PATH": "/usr/bin:/bin", "READINESS_AGENT_HOME": str(place / "home")}, cwd="/", input=stdin,
        capture_output=True, text=True, check=False, timeout=60, **somebody,
    )  # fmt: skip


def test_an_agent_of_an_ordinary_user_measures_what_it_may_and_says_what_it_cannot_see(
    cluster: ClusterOfMine, place_of_nobody: Path
) -> None:
    with urllib.request.urlopen(f"{cluster.portal.url}/agent/readiness-agent.pyz", timeout=30) as served:
        (place_of_nobody / "readiness-agent.pyz").write_bytes(served.read())
    enrol = ["enroll", "--portal", cluster.portal.url, "--token-file", "-", "--hostname", "no-root"]
    done = run_as_nobody(place_of_nobody, *enrol, stdin=cluster.enrolment_token)
    assert done.returncode == 0, done.stderr
    config = place_of_nobody / "home" / "agent.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"checkpoint_dir": "/tmp", "job_user": "root"}))

    doctor = run_as_nobody(place_of_nobody, "doctor")
    tick = run_as_nobody(place_of_nobody, "tick", "--json")

    assert "so some files may be closed to it" in doctor.stdout
    assert "checkpoint-mount  not measured (denied): only root can try to write as root" in doctor.stdout
    assert (tick.returncode, json.loads(tick.stdout)["sent"]) == (0, 2)
    reasons = {reason["item"]: reason for reason in cluster.gate(nodes="no-root")["reasons"]}
    assert reasons.get("sysctl-somaxconn", {"verdict": "pass"})["verdict"] in {"pass", "fail"}
