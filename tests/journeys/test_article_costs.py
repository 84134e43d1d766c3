"""The article's 100 checkpoints, 12 TB, "about 1,200 USD": what holds of it, and what a run of one's own costs."""

import csv
import io
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.journeys.pages import Person
from tests.journeys.signoff import Team
from tests.journeys.user import Agent, Portal

pytestmark = pytest.mark.xdist_group("article")

RUN = "thrift-13b"


@pytest.fixture(scope="module")
def team(portal: Portal) -> Team:
    """A lead, a platform engineer, a run of 13 B parameters on two nodes, and the shipped prices."""
    portal.manage("prices", "load", "--yes")
    made = Team(portal.cluster("thrift", profile="8xh100"))
    made.add("lena", "lead")
    made.add("piet", "platform")
    for name in ("thrift001", "thrift002"):
        made.cluster.enrol(name)
    start = datetime.now(UTC) + timedelta(days=1)
    body = {
        "cluster": made.cluster.slug, "slug": RUN, "owner": made.who("lena"), "nodes": "thrift[001-002]",
        "name": RUN, "nodes_needed": 2, "world_size": 16, "model_name": "thrift", "parameters": 13_000_000_000,
        "dataset": "web-v4", "planned_start": start.isoformat(), "planned_end": (start + timedelta(days=9)).isoformat(),
    }  # fmt: skip
    planned = made.portal.ask("/api/v1/runs", token=made.operator_token, body=body)
    assert planned.status == 201, planned.text
    return made


@pytest.fixture(scope="module")
def lena(team: Team, browser: Browser) -> Person:
    """The lead, at a screen."""
    return Person.at(browser, team.portal, username=team.who("lena"), password=team.passwords["lena"])


def test_the_articles_page_tells_the_true_figure_of_every_way(lena: Person) -> None:
    """AWS us-east-1, 12,000 GB: 0 beside, 540 through NAT, 240 to another region, 1,062.20 out, 480 accelerated."""
    lena.go("/costs/").get_by_role("link", name="The article's figures").click()
    table = lena.page.locator("#routes")

    for way, amount in (
        ("Same region", "0.00"), ("Same region, through a NAT gateway", "540.00"), ("To another region", "240.00"),
        ("Out to the internet", "1,062.20"), ("Accelerated upload", "480.00"), ("Into the store from outside", "0.00"),
    ):  # fmt: skip
        row = table.locator(
            "tr", has=lena.page.get_by_role("rowheader", name=re.compile(f"^{re.escape(way)}( unverified)?$"))
        )
        expect(row.locator("td").first).to_have_text(amount)
    expect(lena.page.get_by_role("heading", name="--no_python")).to_be_visible()


def test_the_articles_scenario_opens_with_its_sum(lena: Person) -> None:
    lena.page.get_by_role("link", name="100 checkpoints of 120 GB, to the internet").click()
    egress = lena.page.locator("#lines tr", has_text="Moving checkpoints")

    expect(egress).to_contain_text("1,062")
    lena.page.get_by_label("Way of the checkpoints").select_option("same_region")
    expect(egress.locator("td").nth(1)).to_have_text("0")


def test_what_a_run_of_ones_own_costs_begins_with_its_measured_checkpoint(
    team: Team, agent: Agent, tmp_path: Path, lena: Person
) -> None:
    """Two sparse shards of 92 GB (92e9 bytes) are 184 GB; 13 B parameters at 14 bytes are 182."""
    token = tmp_path / "token"
    token.write_text(team.operator_token)
    token.chmod(0o600)
    step = tmp_path / "checkpoints" / "global_step1000"
    step.mkdir(parents=True)
    for rank in (0, 1):
        with (step / f"zero_pp_rank_{rank}_optim_states.pt").open("wb") as shard:
            os.truncate(shard.fileno(), 92 * 10**9)
    done = agent("audit", "checkpoint", str(tmp_path / "checkpoints"), "--run", RUN,
                 "--portal", team.portal.url, "--token-file", str(token))  # fmt: skip

    assert done.returncode == 2, done.stderr  # a size alone proves no space
    lena.go(f"/costs/?run={RUN}")
    expect(lena.page.get_by_label("Size of one, GB")).to_have_value(re.compile(r"^184(\.0*\d*)?$|^183\.99"))
    expect(lena.page.locator("#result")).to_contain_text(
        "A checkpoint of this run was measured at 184 GB; by parameters and layout it would be 182 GB."
    )


def test_an_estimate_is_kept_with_the_run_and_a_bill_stands_against_it(lena: Person) -> None:
    lena.page.get_by_role("link", name=f"Keep it with {RUN}").click()
    lena.fill({"Name": "as planned"})
    lena.press("Freeze it")
    lena.page.locator("#cost").get_by_role("link", name="Line items").click()
    total = lena.page.locator("#lines .total td").nth(1).inner_text().replace(",", "")
    bill = f"cause,amount,currency\ncompute,{float(total) * 1.4:.2f},USD\n"
    lena.page.get_by_role("main").get_by_role("link", name="Read a bill in").first.click()
    lena.page.get_by_label("Bill, CSV").set_input_files(
        {"name": "november.csv", "mimeType": "text/csv", "buffer": bill.encode()}
    )
    lena.press("Read it in")

    expect(lena.page.locator(".answer")).to_contain_text("40 % over")
    expect(lena.page.locator(".answer .says")).to_have_class(re.compile("is-fail"))
    expect(lena.go(f"/runs/{RUN}/").locator("#cost")).to_contain_text("40 % over")


def test_another_price_makes_another_estimate_and_the_first_stays(team: Team) -> None:
    read = team.portal.ask(f"/api/v1/runs/{RUN}/estimates", token=team.operator_token)
    first = read.json["estimates"][-1]
    order = {"name": "dearer", "scenario": {"gpus": 16, "days": 9, "gpu_price": "8.00"}}
    made = team.portal.ask(f"/api/v1/runs/{RUN}/estimates", token=team.operator_token, body=order)
    assert made.status == 201, made.text
    again = team.portal.ask(f"/api/v1/estimates/{first['number']}", token=team.operator_token).json

    assert float(made.json["total"]["expected"]) > float(first["total"]["expected"])
    assert again["total"] == first["total"]


def test_the_table_of_ways_is_there_as_csv(team: Team) -> None:
    rows = {row["way"]: row for row in csv.DictReader(io.StringIO(team.sender("lena").look("/costs/article.csv").html))}

    assert rows["internet"]["usd_for_12000_gb"] == "1062.20"
    assert rows["into"]["usd_for_12000_gb"] == "0.00"
