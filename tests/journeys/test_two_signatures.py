"""Two people take responsibility for exactly what was measured, and nothing moves under their signatures unseen."""

import base64
import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.journeys.pages import Person
from tests.journeys.signoff import DATASET, LAYERS, SIGNERS, RunOfMine, Team, codes, layers
from tests.journeys.training import TrainingNode
from tests.journeys.user import wait_for

pytestmark = pytest.mark.xdist_group("sign-off")

_ONE_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHEET = FilePayload(name="spot-check.png", mimeType="image/png", buffer=_ONE_PIXEL)


class Room:
    """Where people of the team sit, each before a screen of their own."""

    def __init__(self, browser: Browser, team: Team) -> None:
        self._browser, self._team = browser, team
        self._people: dict[str, Person] = {}

    def __getitem__(self, name: str) -> Person:
        if name not in self._people:
            username, password = self._team.who(name), self._team.passwords[name]
            self._people[name] = Person.at(self._browser, self._team.portal, username=username, password=password)
        return self._people[name]

    def leave(self) -> None:
        for person in self._people.values():
            person.close()


@pytest.fixture
def room(browser: Browser, team: Team) -> Iterator[Room]:
    """Closed when the test ends."""
    room = Room(browser, team)
    yield room
    room.leave()


@pytest.fixture(scope="module", autouse=True)
def nodes(team: Team) -> None:
    """Four nodes that train."""
    team.training("gpu001", "gpu002", "gpu003", "gpu004")


def gate_of(page: Page, layer: str) -> str:
    """What the run's page says about one layer, in one line."""
    gate = page.locator(".gate", has=page.get_by_role("heading", name=re.compile(f"^{layer}", re.IGNORECASE)))
    return " ".join(gate.inner_text().split())


def planned_at_a_screen(room: Room, team: Team) -> RunOfMine:
    """A run that needs both of its nodes: planned by the lead, its spot check stated with a picture."""
    lead, run = room["lena"], RunOfMine(team, team.called("run"))
    page = lead.go(f"/clusters/{team.cluster.slug}/runs/new/")
    lead.fill({
        "Name": "Cygnus 13 B", "Short name": run.slug, "Model": "cygnus", "Parameters": "13B", "Dataset": DATASET,
        "Nodes it may use": "gpu[001-002]", "Nodes it needs": "2", "World size": "4",
    })  # fmt: skip
    expect(page.locator("#preview")).to_contain_text("2 of 2 needed")
    lead.press("Plan the run")
    expect(page).to_have_url(re.compile(f"{run.path}$"))
    room["carl"].state(
        f"/clusters/{team.cluster.slug}/items/data-spot-check/state/?run={run.slug}",
        facts={"Passed": "99.8", "Documents read": "400"},
        picture=SHEET,
    )
    team.stated.add("data-spot-check")
    run.state_all()
    return run


def test_two_people_sign_and_whatever_happens_to_a_node_is_seen_at_once(room: Room, team: Team) -> None:
    run = planned_at_a_screen(room, team)
    assert layers(run.gate()) == dict.fromkeys(LAYERS, "unsigned")
    assert (run.gate()["decision"], codes(run.gate())) == ("not_ready", {"unsigned"})
    two_sign_the_physical_layer(room, run)
    for name, layer in SIGNERS[2:]:
        run.signed_by(name, layer)
    assert (run.gate()["decision"], run.gate()["basis"]) == ("ready", "signed")

    a_fault_closes_at_once_and_outdates_when_it_settles(room, run, team.nodes["gpu001"])
    mended = run.gate()
    assert (mended["decision"], codes(mended)) == ("not_ready", {"outdated"})
    room["piet"].sign(run.path, "framework")
    assert run.gate()["decision"] == "not_ready"
    room["lena"].sign(run.path, "framework")
    assert (run.gate()["decision"], run.gate()["basis"]) == ("ready", "signed")


def two_sign_the_physical_layer(room: Room, run: RunOfMine) -> None:
    """One signature is half, and opens nothing; the other person's completes it."""
    room["hana"].sign(run.path, "physical")
    assert "half signed" in gate_of(room["hana"].page, "physical")
    assert layers(run.gate())["physical"] == "half"
    room["piet"].sign(run.path, "physical")
    assert "open" in gate_of(room["piet"].page, "physical")


def a_fault_closes_at_once_and_outdates_when_it_settles(room: Room, run: RunOfMine, node: TrainingNode) -> None:
    """The next request hears of it; the page names item and node once it holds; then it is repaired, and holds."""
    node.change("checkpoint-mount", writable=False)
    node.tick_now()
    told = run.gate()
    assert (told["decision"], layers(told)["framework"]) == ("not_ready", "signed")
    assert codes(told) == {"criterion", "too_few_nodes"}
    node.settle()
    assert layers(run.gate())["framework"] == "outdated"
    piet = room["piet"]
    assert "outdated" in gate_of(piet.go(run.path), "framework")
    assert "changed: gpu001" in gate_of(piet.page, "framework")
    changed = piet.go(f"{run.path}sign/framework/").get_by_role("table", name="What changed since you last signed")
    expect(changed).to_contain_text(re.compile("checkpoint-mount.*gpu001.*pass → fail", re.DOTALL))
    node.mend()
    node.settle()


@pytest.fixture(scope="module")
def night(team: Team, nodes: None) -> RunOfMine:
    """A run that was signed on gpu[001-003] and started on two of them, of which gpu002 fell silent."""
    run = team.run("night", "gpu[001-003]", needed=2)
    run.sign_all()
    assert codes(run.gate("restart", nodes="gpu[001-002]")) == {"not_started"}
    started = run.tell("started", nodes="gpu[001-002]")
    assert started.status == 201, started.text
    dies(team, "gpu002", others=("gpu001", "gpu003", "gpu004"))
    return run


def dies(team: Team, hostname: str, *, others: Sequence[str]) -> None:
    """Reports are asked for each five seconds, and one node sends none of them; the others do."""
    team.portal.manage("cluster", "set", team.cluster.slug, "--interval", "5")
    team.nodes[hostname].tick_now()

    def silent() -> bool:
        for other in others:
            team.nodes[other].tick_now()
        return "stale" in codes(team.cluster.gate(nodes=hostname))

    wait_for(f"{hostname} has been silent for long enough", silent, seconds=40)
    team.portal.manage("cluster", "set", team.cluster.slug, "--interval", "300")
    for other in others:
        team.nodes[other].tick_now()


def test_a_run_comes_back_at_night_on_a_spare_without_a_new_signature(night: RunOfMine) -> None:
    assert "stale" in codes(night.gate("restart", nodes="gpu[001-002]"))

    again = night.gate("restart", nodes="gpu[001,003]")
    assert (again["decision"], again["basis"], codes(again)) == ("ready", "signed-at-start", set())
    replaced = night.tell("replace", old="gpu002", new="gpu003", reason="gpu002 fell silent")
    assert (replaced.status, replaced.json["nodes"]) == (201, "gpu[001,003]"), replaced.text
    restarted = night.tell("restarted", nodes="gpu[001,003]", reason="on the spare")
    assert restarted.status == 201, restarted.text


def test_a_healthy_node_from_outside_the_pool_does_not_bring_a_run_back(night: RunOfMine) -> None:
    stranger = night.gate("restart", nodes="gpu[001,004]")

    assert (stranger["decision"], codes(stranger)) == ("not_ready", {"not_in_pool"})
    refused = night.tell("restarted", nodes="gpu[001,004]", reason="on any node")
    assert (refused.status, refused.json["code"]) == (409, "not_ready")


def test_another_driver_than_the_signed_one_does_not_bring_a_run_back(team: Team, night: RunOfMine) -> None:
    driver_of(team, "gpu003", "580.126.10")
    swapped = night.gate("restart", nodes="gpu[001,003]")
    driver_of(team, "gpu003", "580.126.09")

    assert swapped["decision"] == "not_ready"
    said = next(reason for reason in swapped["reasons"] if reason["code"] == "identity_changed")
    assert (said["node"], said["item"]) == ("gpu003", "driver-cuda-match")
    assert "580.126.10" in str(said["value"])
    assert "580.126.09" in str(said["threshold"])
    assert night.gate("restart", nodes="gpu[001,003]")["decision"] == "ready"


def driver_of(team: Team, hostname: str, version: str) -> None:
    """The daily report of a node with that driver, on both sides."""
    node = team.nodes[hostname]
    node.change("driver-cuda-match", driver=version, user_driver=version)
    node.push("daily", node.daily)
    node.mend()


def test_a_run_whose_signature_was_revoked_does_not_come_back(team: Team, night: RunOfMine) -> None:
    number = next(one["id"] for one in night.signatures("physical") if one["role"] == "hardware")
    revoked = team.sender("hana").send(f"{night.path}signatures/{number}/revoke/", {"reason": "the wrong riser"})
    assert revoked.status == 200, revoked.text

    closed = night.gate("restart", nodes="gpu[001,003]")
    assert (closed["decision"], codes(closed)) == ("not_ready", {"revoked"})


@pytest.fixture
def narrow(team: Team) -> Iterator[TrainingNode]:
    """A node whose GPUs have lost half of their lanes; repaired when the test ends."""
    node = team.nodes["gpu004"]
    node.change("gpu-pcie-width", width=8)
    node.settle()
    team.nodes["gpu001"].tick_now()
    yield node
    node.mend()
    node.settle()


def test_two_people_accept_a_failure_until_one_of_them_ends_it(team: Team, narrow: TrainingNode) -> None:
    run, hana, piet = team.run("waived", "gpu[001,004]", needed=2), team.sender("hana"), team.sender("piet")
    assert "It cannot be signed yet" in hana.look(f"{run.path}sign/physical/").text
    asked = hana.send(f"{run.path}waivers/new/", {"item": "gpu-pcie-width", "nodes": "gpu004", "reason": "on order"})
    waiver = re.search(rf"{run.path}waivers/\d+/", asked.html)
    assert waiver is not None, asked.text
    agree = hana.look(f"{waiver[0]}agree/")
    assert "You asked for it yourself: another person has to agree." in agree.text

    assert piet.send(f"{waiver[0]}agree/").path == run.path
    run.sign_all()
    told = run.gate()
    assert (told["decision"], told["basis"], codes(told)) == ("ready", "signed", {"waived"})

    assert piet.send(f"{waiver[0]}end/", {"reason": "the riser came"}).path == run.path
    closed = run.gate()
    assert closed["decision"] == "not_ready"
    assert {"criterion", "outdated"} <= codes(closed)


def test_a_gate_that_was_forced_open_says_so_loudly_until_anything_new_is_in_the_way(
    team: Team, narrow: TrainingNode
) -> None:
    run, lena = team.run("forced", "gpu[001,004]", needed=2), team.sender("lena")
    forced = lena.send(f"{run.path}override/", {"hours": "2", "ticket": "OPS-1234", "reason": "the window closes"})
    assert forced.path == run.path, forced.text
    for page in (forced, run.page("hana")):
        assert "Forced open: this is no sign-off" in page.text
        assert "OPS-1234" in page.text
        assert "Yes, by force" in page.text
    told = run.gate()
    assert (told["decision"], told["basis"]) == ("ready", "override")
    assert layers(told) == dict.fromkeys(LAYERS, "unsigned")

    narrow.change("sysctl-swappiness", live=60, configured=60)
    narrow.tick_now()
    told = run.gate()
    assert told["decision"] == "not_ready"
    assert "override_ended" in codes(told)
