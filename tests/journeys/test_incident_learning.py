"""An alert becomes an incident, the incident names the item that let it pass, and the item learns from it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.journeys.forms import Sender
from tests.journeys.signoff import Team
from tests.journeys.sound import PROFILE, Sound, facts_of_a_tuned_node
from tests.journeys.user import Portal

pytestmark = pytest.mark.xdist_group("learning")
ITEM, FACT = "sysctl-netdev-backlog", "live"


@pytest.fixture(scope="module")
def team(portal: Portal) -> Team:
    """A hardware and a platform engineer of a cluster with one ready node."""
    team = Team(portal.cluster("learn", profile=PROFILE))
    team.add_all({"hana": "hardware", "piet": "platform"})
    return team


@pytest.fixture(scope="module")
def node(team: Team) -> Sound:
    return Sound(team.cluster, "ln001", facts_of_a_tuned_node()).become_ready()


def heard(team: Team, status: str, *, ended: bool = False) -> dict[str, Any]:
    """What the portal says to Alertmanager."""
    now = datetime.now(UTC)
    alert = {
        "status": status, "labels": {"alertname": "Throughput", "instance": "ln001:9100"}, "fingerprint": "a1",
        "annotations": {"summary": "22 % slower than yesterday"}, "startsAt": STARTED.isoformat(),
        "endsAt": now.isoformat() if ended else "0001-01-01T00:00:00Z", "generatorURL": "http://prometheus.example",
    }  # fmt: skip
    body = {
        "version": "4", "groupKey": "{}:{alertname=Throughput}", "status": status, "receiver": "countersign",
        "groupLabels": {}, "commonLabels": alert["labels"], "commonAnnotations": alert["annotations"],
        "alerts": [alert],
    }  # fmt: skip
    answer = team.portal.ask("/api/v1/clusters/learn/alertmanager", token=team.operator_token, body=body)
    assert answer.status == 200, answer.text
    return dict(answer.json)


STARTED = datetime.now(UTC) - timedelta(hours=2)


@pytest.fixture(scope="module")
def number(team: Team, node: Sound) -> int:
    """The incident that Alertmanager opened, once, however often it called."""
    first, again = heard(team, "firing"), heard(team, "firing")
    assert (first["outcome"], again["outcome"]) == ("opened", "known")
    assert first["incident"] == again["incident"]
    return int(first["incident"])


def test_an_alert_becomes_an_incident_that_names_its_machine(team: Team, number: int) -> None:
    page = team.sender("hana").look(f"/incidents/{number}/")

    assert "22 % slower than yesterday" in page.text
    assert "A blind spot." in page.text
    assert "ln001" in page.text
    assert f"INC-{number:04}" in team.sender("hana").look("/incidents/?q=slower+ln001").text


def test_it_costs_hours_once_somebody_says_what_stood_still(team: Team, number: int) -> None:
    hana = team.sender("hana")
    hana.send(f"/incidents/{number}/change/", {"gpus_affected": "2", "summary": "One **switch** came back slow."})
    assert heard(team, "resolved", ended=True)["outcome"] == "stable"
    page = hana.look(f"/incidents/{number}/")

    assert "<strong>switch</strong>" in page.html
    assert re.search(r"Lost 4 GPU-hours|Lost 4\.\d GPU-hours", page.text)  # 2 GPUs for two hours and some seconds


def test_the_blind_spot_ends_with_the_item_that_should_have_caught_it(team: Team, number: int) -> None:
    hana, name = team.sender("hana"), f"INC-{number:04}"
    assert name in hana.look("/incidents/blind-spots/").text
    linked = {"item": ITEM, "relation": "should_have_caught", "why": "the backlog was far too small, and passed"}
    hana.send(f"/incidents/{number}/link/", linked)

    assert name not in hana.look("/incidents/blind-spots/").text
    assert "caught 0, escaped 1, false alarms 0" in hana.look(item_path()).text
    program = team.portal.ask(f"/api/v1/incidents/{number}", token=team.operator_token).json
    assert [(link["item"], link["relation"]) for link in program["items"]] == [(ITEM, "should_have_caught")]


def test_what_others_told_came_with_the_portal_in_both_languages(team: Team) -> None:
    piet = Sender(team.portal, team.who("piet"), team.passwords["piet"]).sign_in()
    shown, english = piet.look("/clusters/learn/incidents/new/"), piet.look(f"/incidents/known/?item={ITEM}").text
    piet.send("/accounts/language/", {"language": "zh-hans", "next": "/"}, shown=shown)
    chinese = piet.look(f"/incidents/known/?item={ITEM}").text
    piet.send("/accounts/language/", {"language": "en", "next": "/"}, shown=shown)

    assert "The backlog of network packets stood at 1000" in english
    assert "网络收包队列长度停留在 1000" in chinese
    assert "出自文章" in chinese


def test_a_threshold_does_after_the_second_person_what_it_showed_before(team: Team, number: int, node: Sound) -> None:
    value = next(fact["value"] for fact in node.facts if (fact["item"], fact["name"]) == (ITEM, FACT))
    hana, piet = team.sender("hana"), team.sender("piet")
    hana.send(f"{item_path()}propose/", {"threshold": str(value + 1), "reason": "it should have caught the incident"})
    shown = piet.look(item_path())
    link = re.search(r"/clusters/learn/thresholds/\d+/accept/", shown.html)
    assert link is not None, shown.text
    assert "begin to fail: 1" in shown.text
    assert node.decision == "ready"  # it is in shadow

    early = piet.send(link[0])
    assert "were measured since it was proposed" in early.text
    node.push("tick", node.tick)
    assert node.decision == "ready"
    assert "You proposed it yourself" in hana.look(link[0]).text
    assert "It is in force" in piet.send(link[0]).text

    assert [reason["code"] for reason in node.reasons_of(ITEM)] == ["criterion"]
    assert node.decision == "not_ready"


def item_path() -> str:
    return f"/clusters/learn/items/{ITEM}/"
