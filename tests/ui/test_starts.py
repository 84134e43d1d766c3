"""Telling on pages that a run started, and finding the form for what no probe measures."""

import re
from datetime import datetime, timedelta

import pytest

from checks.models import Role, Run, RunStart, StartKind
from checks.services.attestations import attest
from tests.fleet import Fleet, person
from tests.ui.conftest import seen_by
from tests.ui.signing import RUN, Lab, make_lab

HOUR = timedelta(hours=1)
STARTED, RESTARTED, REPLACED = f"{RUN}started/", f"{RUN}restarted/", f"{RUN}replaced/"


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    return make_lab(fleet, now)


def _runs(lab: Lab, now: datetime) -> None:
    """As after a start on gpu-001 that the gate let through."""
    RunStart.objects.create(
        run=lab.run, kind=StartKind.START, at=now, by=lab.people["quill"], hostnames=["gpu-001"], basis=[],
        restart_until=now + HOUR,
    )  # fmt: skip
    Run.objects.filter(pk=lab.run.pk).update(stage="running")


def test_a_start_at_a_closed_gate_is_refused_with_what_to_do_and_the_nodes_stay_typed(lab: Lab) -> None:
    quill = lab.sight("quill")
    assert f'href="{STARTED}"' in quill.text(RUN)
    response = quill.client.post(STARTED, {"nodes": "gpu-[002,001]"})
    page = response.content.decode()
    assert response.status_code == 409
    assert "The gate is closed for these nodes, so nothing was noted" in page
    assert 'value="gpu-[002,001]"' in page
    assert not RunStart.objects.exists()


def test_the_form_begins_with_the_pool_and_a_restart_with_what_it_ran_on(lab: Lab, now: datetime) -> None:
    assert 'value="gpu-[001-002]"' in lab.sight("quill").text(STARTED)
    _runs(lab, now)
    assert 'value="gpu-001"' in lab.sight("quill").text(RESTARTED)
    assert "Rest of the pool" in lab.sight("quill").text(REPLACED)


def test_before_a_start_nothing_comes_back_and_after_it_nothing_starts_again(lab: Lab, now: datetime) -> None:
    assert "It has not started yet: tell that first." in lab.sight("quill").text(RESTARTED)
    _runs(lab, now)
    assert "It runs already: tell that it came back instead." in lab.sight("quill").text(STARTED)
    page = lab.sight("quill").text(RUN)
    assert f'href="{RESTARTED}"' in page
    assert f'href="{STARTED}"' not in page


def test_a_replacement_by_a_node_that_runs_already_is_refused(lab: Lab, now: datetime) -> None:
    _runs(lab, now)
    form = {"old": "gpu-002", "new": "gpu-001", "reason": "fan"}
    response = lab.sight("quill").client.post(REPLACED, form)
    assert response.status_code == 409
    assert "cygnus-13b runs on gpu-001; name one of these" in response.content.decode()


def test_an_owner_tells_it_and_an_engineer_who_is_none_does_not(lab: Lab) -> None:
    lab.sight("wren").text(STARTED)
    lab.sight("ember").text(STARTED, status=403)
    assert STARTED not in lab.sight("ember").text(RUN)


def test_what_was_never_measured_and_people_state_leads_to_its_form(lab: Lab) -> None:
    form = "/clusters/helios/items/net-topology-map/state/"
    assert re.search(rf'Never measured\s*<a class="nowrap" href="{form}">State it</a>', lab.sight("ember").text(RUN))
    assert f'href="{form}"' in lab.sight("ember").text("/clusters/helios/items/net-topology-map/")
    vera = seen_by(person("vera", lab.fleet.cluster, Role.VIEWER))
    assert form not in vera.text(RUN) + vera.text("/clusters/helios/items/net-topology-map/")


def test_an_item_of_a_node_leads_to_the_form_with_that_node_chosen(lab: Lab, now: datetime) -> None:
    attest(
        cluster=lab.fleet.cluster, run=None, node=lab.fleet.node("gpu-001"), item="gpu-thermal-photo", subject="",
        facts={"confirmed": True}, statement="Even on all fins.", files=[], valid_until=now + HOUR,
        by=lab.people["ember"], now=now,
    )  # fmt: skip
    form = "/clusters/helios/items/gpu-thermal-photo/state/?node=gpu-001"
    ember = lab.sight("ember")
    assert f'href="{form}"' in ember.text("/clusters/helios/nodes/gpu-001/items/gpu-thermal-photo/")
    assert '<option value="gpu-001" selected>' in ember.client.get(form).content.decode()


def test_a_role_stands_once_among_those_who_must_act(lab: Lab) -> None:
    page = lab.sight("wren").text(RUN)
    roles = re.findall(r'<span class="person">(?:You: )?([^<]+)</span>', page)
    assert len({role.lower() for role in roles}) == len(roles) > 1


def test_reasons_begin_with_a_capital_like_the_titles_beside_them(lab: Lab) -> None:
    table = lab.sight("wren").text(RUN).split('id="stops"')[1].split("</table>")[0]
    titles = re.findall(r'<th scope="row" class="wide"><a [^>]*>([^<]+)</a>', table)
    assert titles
    assert all(title[0].isupper() for title in titles)
    assert "not yet settled" not in table
