"""What it costs that nodes may not start: no number before somebody names a price, and then the same one everywhere."""

import re

import pytest

from tests.journeys.signoff import Team
from tests.journeys.user import Portal

pytestmark = pytest.mark.xdist_group("red-cell")

ITEM = "gpu-ecc"


@pytest.fixture(scope="module")
def team(portal: Portal) -> Team:
    """Two machines of 8 GPUs that have never reported: both are red, and 16 GPUs wait."""
    made = Team(portal.cluster("redcell", profile="8xh200"))
    made.add("lena", "lead")
    made.add("vera", "viewer")
    made.cluster.enrol("redcell001")
    made.cluster.enrol("redcell002")
    return made


def pages(team: Team, name: str) -> dict[str, str]:
    """What that person reads on the board, on the item's page, and on that of the item on one node."""
    slug = team.cluster.slug
    paths = {
        "board": f"/?cluster={slug}", "item": f"/clusters/{slug}/items/{ITEM}/",
        "node": f"/clusters/{slug}/nodes/redcell001/items/{ITEM}/",
    }  # fmt: skip
    return {page: team.sender(name).look(path).text for page, path in paths.items()}


def test_without_a_price_nobody_tells_a_number_and_the_lead_is_led_to_the_form(team: Team) -> None:
    cost = team.cluster.gate()["cost_of_waiting"]

    assert (cost["gpus"], cost["usd_per_hour"], cost["price_source"]) == (16, None, None)
    for page, text in pages(team, "vera").items():
        assert "no price set" in text, page
        assert not re.search(r"\d USD an hour", text), page
    assert f'href="/clusters/{team.cluster.slug}/price/"' in team.sender("lena").look("/?cluster=redcell").html


def test_a_viewer_prices_nothing(team: Team) -> None:
    assert team.sender("vera").look(f"/clusters/{team.cluster.slug}/price/").status == 403


def test_once_the_lead_names_a_price_board_item_and_gate_say_the_same(team: Team) -> None:
    """16 GPUs x 6.88 = 110.08 USD an hour; one node of 8 is 55.04."""
    before = team.cluster.ask_gate()
    sent = team.sender("lena").send(
        f"/clusters/{team.cluster.slug}/price/", {"amount": "6.88", "reason": "contract 17 of 2026"}
    )
    assert sent.path == "/costs/prices/", sent.text

    cost = team.cluster.gate()["cost_of_waiting"]
    assert (cost["usd_per_hour"], cost["usd_per_gpu_hour"], cost["price_source"]) == (
        "110.08", "6.88", "contract 17 of 2026",
    )  # fmt: skip
    assert team.cluster.ask_gate(etag=before.headers["etag"]).status == 200
    told = pages(team, "vera")
    assert "110 USD an hour" in told["board"]
    assert "110 USD an hour" in told["item"]
    assert "55 USD an hour" in told["node"]
    assert all("contract 17 of 2026" in text for text in told.values())


def test_a_shell_reads_it_below_the_decision(team: Team) -> None:
    answer = team.portal.ask(f"/gate/{team.cluster.slug}", token=team.cluster.token)

    assert answer.text.splitlines()[0] == "unknown"
    assert "waiting costs 110.08 USD an hour (16 GPUs)" in answer.text


def test_what_skipping_the_item_has_cost_others_stands_beside_it(team: Team) -> None:
    text = pages(team, "vera")["item"]

    assert "91 of 419 interruptions of Llama 3 405B" in text
    assert "At that rate a job on your 2 nodes has 0.05 of them in 30 days" in text
    assert "How many of them this item would have spared, nobody published." in text


def test_a_price_given_on_the_command_line_counts_as_well(team: Team) -> None:
    team.portal.manage("prices", "cluster", team.cluster.slug, "2.10", "--reason", "owned, over four years")

    assert team.cluster.gate()["cost_of_waiting"]["usd_per_hour"] == "33.60"
