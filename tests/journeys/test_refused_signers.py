"""Who cannot complete a pair of signatures, and the sentence that each of them reads."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.journeys.forms import Page, Sender
from tests.journeys.pages import Person
from tests.journeys.signoff import RunOfMine, Team, layers

pytestmark = pytest.mark.xdist_group("sign-off")
NOT_THAT_DELEGATION = "That delegation does not let you sign this layer in this role now."
NODES, POOL = ("who001", "who002"), "who[001-002]"


@pytest.fixture(scope="module")
def half(team: Team) -> RunOfMine:
    """A run of whose physical layer the hardware engineer signed."""
    team.training(*NODES)
    run = team.run("half", POOL, needed=2)
    run.signed_by("hana", "physical")
    return run


def sentence(team: Team, run: RunOfMine, name: str, layer: str = "physical") -> str:
    """What the page says in the place of the line to sign on."""
    page = team.sender(name).look(f"{run.path}sign/{layer}/")
    assert 'name="meaning"' not in page.html
    return page.text.partition("Your signature")[2].partition("Digest")[0]


def test_somebody_with_both_roles_fills_one_slot_only(team: Team, half: RunOfMine) -> None:
    run = team.run("both", POOL, needed=2)
    team.add("bo", "hardware")
    team.grant("bo", "platform")
    run.signed_by("bo", "physical")

    assert "The slot hardware engineer was signed by you or for you; this one needs another person." in sentence(
        team, run, "bo"
    )
    assert layers(run.gate())["physical"] == "half"


def test_whoever_stated_a_result_does_not_sign_it(team: Team, half: RunOfMine) -> None:
    assert "You had a hand in what would be signed" in sentence(team, half, "carl", "data")


def test_an_administrator_of_the_site_signs_nothing(team: Team, half: RunOfMine) -> None:
    notes = team.portal.notes
    admin = Sender(team.portal, notes["username"], notes["password"]).sign_in()
    page = admin.look(f"{half.path}sign/physical/")

    assert 'name="meaning"' not in page.html
    assert "Your roles here are not asked for. Still missing: AI platform engineer." in page.text


@pytest.fixture(scope="module")
def pia(team: Team) -> Sender:
    """Somebody who could sign for another AI platform engineer."""
    team.add("pia", "platform")
    return team.sender("pia")


def delegated(team: Team, *, run: RunOfMine | None) -> str:
    """Piet's delegation to Pia, for that run only or for all of them; where it is ended."""
    piet, there = team.sender("piet"), f"/clusters/{team.cluster.slug}/delegations/"
    shown = piet.look(there)
    chosen = {"receiver": shown.choice(team.who("pia")), "run": shown.choice(run.slug) if run else ""}
    given = piet.send(there, {"role": "platform", "reason": "on leave", **chosen}, shown=shown)
    number = re.search(rf"{there}\d+/end/", given.html)
    assert number is not None, given.text
    return number[0]


def signs_under(pia: Sender, run: RunOfMine, delegation: str, shown: Page) -> Page:
    """Pia sends the sign page, for Piet."""
    given = {"meaning": "reviewed", "delegation": delegation.split("/")[-3]}
    return pia.send(f"{run.path}sign/physical/", given, shown=shown)


def test_a_delegation_for_another_run_lets_nobody_sign_this_one(team: Team, half: RunOfMine, pia: Sender) -> None:
    other = RunOfMine(team, team.called("other"))
    other.plan(POOL, 2)
    delegation = delegated(team, run=other)
    shown = pia.look(f"{half.path}sign/physical/")
    refused = signs_under(pia, half, delegation, shown)
    team.sender("piet").send(delegation, {"reason": "back"})

    assert "who delegated it to me" not in shown.text
    assert refused.status == 403
    assert NOT_THAT_DELEGATION in refused.text
    assert layers(half.gate())["physical"] == "half"


def test_a_delegation_that_was_taken_back_meanwhile_lets_nobody_sign(team: Team, half: RunOfMine, pia: Sender) -> None:
    delegation = delegated(team, run=None)
    shown = pia.look(f"{half.path}sign/physical/")
    team.sender("piet").send(delegation, {"reason": "back"})
    refused = signs_under(pia, half, delegation, shown)

    assert "who delegated it to me" in shown.text
    assert refused.status == 403
    assert NOT_THAT_DELEGATION in refused.text
    assert layers(half.gate())["physical"] == "half"


def test_a_former_role_holder_does_not_sign_and_what_they_signed_ends(team: Team, half: RunOfMine) -> None:
    team.add("otto", "data")
    team.grant("otto", "platform")
    run, otto = team.run("former", POOL, needed=2), team.sender("otto")
    run.signed_by("otto", "physical")
    shown = otto.look(f"{half.path}sign/physical/")
    team.end("otto", "platform")
    refused = otto.send(f"{half.path}sign/physical/", {"meaning": "reviewed"}, shown=shown)

    assert refused.status == 403
    assert f"You are no AI platform engineer in {team.cluster.slug} now" in refused.text
    assert "Your roles here are not asked for. Still missing: AI platform engineer." in sentence(team, half, "otto")
    assert "the signer no longer holds the role" in run.page().text


def test_an_account_that_was_closed_signs_nothing_and_what_it_signed_ends(
    team: Team, half: RunOfMine, browser: Browser
) -> None:
    team.add("ines", "platform")
    run = team.run("closed", POOL, needed=2)
    run.signed_by("ines", "physical")
    close_account(browser, team, "ines")

    assert "the account was closed" in run.page().text
    assert layers(run.gate())["physical"] in ("unsigned", "outdated")
    assert "/accounts/login/" in team.sender("ines").look(f"{run.path}sign/physical/").path
    assert "This account is inactive." in Sender(team.portal, team.who("ines"), team.passwords["ines"]).knock().text


def close_account(browser: Browser, team: Team, name: str) -> None:
    """As the administrator of the site does it, on its own pages."""
    notes = team.portal.notes
    admin = Person.at(browser, team.portal, username=notes["username"], password=notes["password"])
    page = admin.go(f"/admin/accounts/user/?q={team.who(name)}")
    page.get_by_role("link", name=team.who(name)).click()
    admin.prove()
    page.get_by_label("Active", exact=True).uncheck()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    admin.close()
