"""64 nodes, one with a setting that the others have otherwise and that stands on no checklist.

Somebody wrote down what it did to a run, and no item had seen it. Drift names that node and that setting first; one
click makes the item, which should have caught that incident; the next tick fails that node; and a second person lets it
block.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from checks.domain.setting_items import item_key
from tests.journeys.pages import Person, sign_in
from tests.journeys.running import RunningPortal
from tests.journeys.settings import tell_all
from tests.journeys.user import CHECKOUT, Agent, ClusterOfMine, wait_for

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("settings")]

NAME = "sysctl:net.core.netdev_max_backlog"
KEY = item_key(NAME)
ODD = "vega-37"
TITLE = "Loss rose in epoch 3"
NODES = [f"vega-{n:02d}" for n in range(1, 65)]
_ITEM = re.compile(r"^\[sysctl-netdev-backlog\]\n.*?(?=^\[sysctl-file-max\]\n)", re.M | re.S)


def live() -> str:
    """What this machine has: the odd one of the fleet is this very machine."""
    return Path("/proc/sys/net/core/netdev_max_backlog").read_text().strip()


OTHERS = str(int(live()) * 5)


@pytest.fixture(scope="module")
def cluster(own_portal: RunningPortal, tmp_path_factory: pytest.TempPathFactory) -> ClusterOfMine:
    """A cluster under a checklist from which that item was taken out."""
    place = tmp_path_factory.mktemp("checklist") / "catalog"
    shutil.copytree(CHECKOUT / "checks" / "catalog", place)
    system = place / "system.toml"
    shorter, times = _ITEM.subn("", system.read_text(encoding="utf-8"))
    assert times == 1
    system.write_text(shorter, encoding="utf-8")
    own_portal.portal.manage("catalog", "load", "--path", str(place), "--yes")
    return own_portal.portal.cluster("vega", profile="no-gpu", interval="5", poll_after="10")


@pytest.fixture(scope="module")
def odd(cluster: ClusterOfMine, tmp_path_factory: pytest.TempPathFactory) -> Agent:
    """This machine's own agent, after its first tick, among 63 nodes that are set as it is but for one setting."""
    home = tmp_path_factory.mktemp("odd") / "agent"
    home.mkdir(mode=0o700)
    agent = Agent(home)
    enrolled = agent.enrol(cluster.portal, cluster.enrolment_token, ODD)
    assert enrolled.returncode == 0, enrolled.stderr
    said: dict[str, Any] = json.loads(agent("fingerprint", "--json").stdout)
    fleet = {name: said["settings"] | {NAME: OTHERS, "sysctl:kernel.hostname": name} for name in NODES if name != ODD}
    tell_all(cluster, fleet, said["kinds"])
    assert agent.tick()["messages"] == []
    return agent


@pytest.fixture(scope="module")
def incident(cluster: ClusterOfMine) -> int:
    """What happened some days ago, told by a program: its number."""
    token = cluster.portal.manage("token", "issue", "operator", "--cluster", "vega")
    told = {
        "cluster": "vega", "source": "tests", "external_id": "epoch-3", "title": TITLE, "component": "nan_loss",
        "started_at": "2026-11-20T06:00:00Z", "detected_at": "2026-11-20T07:00:00Z",
        "gpus_affected": 512,
    }  # fmt: skip
    answer = cluster.portal.ask("/api/v1/incidents", token=token, body=told)
    assert answer.status == 201, answer.text
    return int(answer.json["number"])


@pytest.fixture
def boss(own_portal: RunningPortal, odd: Agent, page: Page) -> Iterator[Page]:
    """The person whom ``make run`` made, signed in."""
    sign_in(page, own_portal.portal)
    yield page


def test_drift_names_that_node_and_that_setting_first(cluster: ClusterOfMine, boss: Page) -> None:
    boss.goto(f"{cluster.portal.url}/drift/?a=vega")

    first = boss.get_by_role("table", name="Ranked by suspicion").get_by_role("row").nth(1)
    for said in ("net.core.netdev_max_backlog", OTHERS, live(), "1 of 64", ODD):
        expect(first).to_contain_text(said)
    expect(boss.get_by_role("main")).to_contain_text("64 of 64")


def test_one_click_makes_the_item_and_the_next_tick_fails_that_node_alone(
    cluster: ClusterOfMine, odd: Agent, incident: int, boss: Page
) -> None:
    boss.goto(f"{cluster.portal.url}/incidents/blind-spots/")
    boss.get_by_role("link", name=TITLE).click()
    boss.get_by_role("link", name="Look for it in drift").click()
    expect(boss.get_by_role("main")).to_contain_text(TITLE)
    boss.get_by_role("button", name="Make an item net.core.netdev_max_backlog").click()
    expect(boss).to_have_url(re.compile(f"/clusters/vega/items/{KEY}/"))

    def has_failed() -> bool:
        odd.tick()
        boss.goto(f"{cluster.portal.url}/clusters/vega/nodes/{ODD}/items/{KEY}/")
        return bool(boss.get_by_role("main").get_by_text("fail", exact=True).count())

    wait_for("the tick after the next plan judges the setting", has_failed, seconds=60)
    main = boss.get_by_role("main")
    expect(main).to_contain_text(live())
    expect(main).to_contain_text(OTHERS)


def test_the_incident_says_that_the_item_should_have_caught_it_and_is_no_blind_spot_any_more(
    cluster: ClusterOfMine, incident: int, boss: Page
) -> None:
    boss.goto(f"{cluster.portal.url}/incidents/{incident}/")
    saw = boss.get_by_role("table", name="Which items saw it").get_by_role("row").nth(1)
    expect(saw).to_contain_text(KEY)
    expect(saw).to_contain_text("should have caught")
    boss.goto(f"{cluster.portal.url}/incidents/blind-spots/")
    expect(boss.get_by_role("main")).not_to_contain_text(TITLE)
    boss.goto(f"{cluster.portal.url}/clusters/vega/items/{KEY}/")
    expect(boss.get_by_role("main")).to_contain_text(TITLE)


def test_it_warns_and_stops_nothing_until_a_second_person_accepts_it(
    cluster: ClusterOfMine, boss: Page, browser: Browser
) -> None:
    def stopping() -> set[str]:
        return {reason["item"] for reason in cluster.gate(nodes=ODD, purpose="health")["reasons"]}

    assert KEY not in stopping()

    password = cluster.portal.manage("person", "add", "lena-vega", "--role", "lead", "--cluster", "vega").split()[1]
    lena = Person.at(browser, cluster.portal, username="lena-vega", password=password)
    lena.go("/drift/?a=vega").get_by_role("link", name="Let it block").click()
    lena.press("Let it block")
    expect(lena.page.get_by_role("main")).to_contain_text("It blocks from now on.")
    lena.close()

    assert KEY in stopping()
