"""One run's page: the gates, what is forced or waived, the way of the run; and what waits for whom."""

from datetime import datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checks.models import Override, Run, Waiver, WaiverApproval
from tests.fleet import Fleet
from tests.ui.signing import RUN, SIGN_DATA, SIGN_OPERATIONS, Lab, make_lab, sent, stated
from tests.ui.test_forcing import shown_on

MINUTE = timedelta(minutes=1)
FAILING = "data-spot-check"


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    return make_lab(fleet, now)


def _failed(lab: Lab, now: datetime) -> None:
    """The spot check finds one document in ten unfit."""
    facts = {"passed_share": 90.0, "documents": 400}
    stated(lab.fleet, lab.run, lab.people["ember"], FAILING, facts, now=now + MINUTE)


def test_a_gate_opens_when_its_layer_is_signed_and_not_before(lab: Lab) -> None:
    assert "0 of 5 open" in lab.sight("wren").text(RUN)
    sent(lab.sight("quill").client, SIGN_OPERATIONS)
    page = lab.sight("wren").text(RUN)
    assert "1 of 5 open" in page
    assert page.count('class="gate is-clear"') == 1


def test_a_signed_layer_is_not_open_while_what_it_rests_on_has_ended(lab: Lab, now: datetime) -> None:
    sent(lab.sight("quill").client, SIGN_OPERATIONS)
    with time_machine.travel(now + timedelta(hours=25), tick=True):
        page = lab.sight("wren").text(RUN)
    assert "0 of 5 open" in page
    assert 'class="gate is-clear"' not in page
    assert "closed: expired, sign again" in page


def test_what_is_missing_names_the_people_who_can_give_it(lab: Lab) -> None:
    page = " ".join(lab.sight("wren").text(RUN).split())
    assert '<span class="person">Data engineer</span><small>Sable</small>' in page
    assert '<span class="person">You: AI platform engineer</span>' in page


def test_a_role_that_nobody_holds_is_said_to_be_nobodys(lab: Lab) -> None:
    lab.people["sable"].memberships.all().delete()
    assert "nobody holds this role" in lab.sight("wren").text(RUN)


def test_the_page_answers_as_the_gate_does_and_never_with_a_tick_for_what_is_not_ready(lab: Lab) -> None:
    page = lab.sight("wren").text(RUN)
    launch = page.split('class="launch"')[1].split("</section>")[0]
    assert "May this run start on these nodes, now?" in launch
    assert "is-pass" not in launch


def test_a_run_moves_on_with_a_reason_and_not_without(lab: Lab) -> None:
    wren = lab.sight("wren")
    refused = wren.client.post(f"{RUN}stage/", {"to": "checking", "reason": ""})
    assert (refused.status_code, Run.objects.get().stage) == (422, "draft")
    assert wren.client.post(f"{RUN}stage/", {"to": "checking", "reason": "nodes are in"}).status_code == 302
    assert Run.objects.get().stage == "checking"
    assert "moved the run on" in wren.text(RUN)


def test_a_stage_that_cannot_be_reached_is_not_offered(lab: Lab) -> None:
    page = lab.sight("wren").text(f"{RUN}stage/")
    assert 'value="checking"' in page
    assert 'value="running"' not in page


def test_a_failure_is_waived_by_two_people_and_blocks_again_when_it_is_ended(lab: Lab, now: datetime) -> None:
    _failed(lab, now)
    until = (now + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M")
    form = {"item": FAILING, "nodes": "", "until": until, "reason": "menus only, cleaned in the loader"}
    sable, quill = lab.sight("sable"), lab.sight("quill")
    assert sable.client.post(f"{RUN}waivers/new/", form).status_code == 302
    number = Waiver.objects.get().pk
    assert f"{RUN}waivers/{number}/agree/" not in sable.text(RUN)
    assert "You asked for it yourself" in sable.text(f"{RUN}waivers/{number}/agree/")
    assert f"{RUN}waivers/{number}/agree/" in quill.text(RUN)
    assert quill.client.post(f"{RUN}waivers/{number}/agree/").status_code == 302
    assert WaiverApproval.objects.count() == 1
    assert "1&#8239;waived" in quill.text(RUN).replace("\u202f", "&#8239;")
    assert sable.client.post(f"{RUN}waivers/{number}/end/", {"reason": "cleaned at last"}).status_code == 302
    assert "1&#8239;fail" in quill.text(RUN).replace("\u202f", "&#8239;")


def test_only_what_fails_can_be_waived(lab: Lab) -> None:
    assert "Nothing of this run fails now" in lab.sight("sable").text(f"{RUN}waivers/new/")


def test_forcing_a_gate_open_lists_what_is_accepted_and_looks_like_no_sign_off(lab: Lab) -> None:
    quill = lab.sight("quill")
    asked = quill.text(f"{RUN}override/")
    assert "power-budget" in asked
    form = {"hours": "2", "ticket": "OPS-7", "reason": "the deadline is tonight", "shown": shown_on(asked)}
    assert quill.client.post(f"{RUN}override/", form).status_code == 302
    page = lab.sight("wren").text(RUN)
    assert "Forced open: this is no sign-off" in page
    assert "OPS-7" in page
    assert "0 of 5 open" in page
    ending = f"{RUN}overrides/{Override.objects.get().pk}/end/"
    assert ending in quill.text(RUN)
    assert quill.client.post(ending, {"reason": "cured"}).status_code == 302
    assert "Forced open: this is no sign-off" not in quill.text(RUN)


@pytest.mark.parametrize("wrong", [{"hours": "25"}, {"ticket": ""}, {"reason": ""}])
def test_a_gate_is_forced_for_a_day_at_most_with_a_ticket_and_a_reason(lab: Lab, wrong: dict[str, str]) -> None:
    form = {"hours": "2", "ticket": "OPS-7", "reason": "the deadline is tonight"} | wrong
    assert lab.sight("quill").client.post(f"{RUN}override/", form).status_code == 422
    assert not Override.objects.exists()


def test_the_board_and_the_bar_tell_what_waits_for_ones_signature(lab: Lab) -> None:
    assert "Waiting for your signature" not in lab.sight("sable").text("/")
    Run.objects.update(stage="signoff")
    board = lab.sight("sable").text("/")
    assert "Sign data of cygnus-13b" in board
    assert "1 signature waits for you" in lab.sight("sable").text("/status")
    sent(lab.sight("sable").client, SIGN_DATA)
    assert "Waiting for your signature" not in lab.sight("sable").text("/")
    assert "waits for you" not in lab.sight("sable").text("/status")
    assert "3 signatures wait for you" in lab.sight("quill").text("/status")


def test_the_page_asks_as_often_for_three_nodes_as_for_two(lab: Lab) -> None:
    wren = lab.sight("wren")
    wren.text(RUN)
    with CaptureQueriesContext(connection) as two:
        wren.text(RUN)
    lab.run.pool_nodes.create(node=lab.fleet.node("gpu-003"))
    with CaptureQueriesContext(connection) as three:
        wren.text(RUN)
    assert len(three) <= len(two) + 1
