"""Whoever forces a gate open accepts what the page showed, and nothing that came in the way since."""

import re
from datetime import datetime

import pytest

from checks.models import Override, ScopeState
from tests.fleet import Fleet
from tests.ui.signing import RUN, Lab, make_lab

PATH = f"{RUN}override/"
FORM = {"hours": "2", "ticket": "OPS-7", "reason": "the deadline is tonight"}


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    return make_lab(fleet, now)


def shown_on(page: str) -> str:
    """What the page says that it lists."""
    found = re.search(r'name="shown" value="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]


def test_what_came_in_the_way_since_the_page_was_shown_is_not_accepted(lab: Lab) -> None:
    quill = lab.sight("quill")
    form = FORM | {"shown": shown_on(quill.text(PATH))}
    ScopeState.objects.filter(item="ops-runbook").update(raw="fail", reason="criterion")
    refused = quill.client.post(PATH, form)
    page = refused.content.decode()

    assert (refused.status_code, Override.objects.exists()) == (409, False)
    assert "Something else is in the way now" in page
    assert "ops-runbook" in page
    assert quill.client.post(PATH, form | {"shown": shown_on(page)}).status_code == 302
    assert ["", "ops-runbook", "cygnus-13b", "criterion"] in Override.objects.get().accepted


def test_what_was_cured_since_is_not_accepted_in_advance(lab: Lab) -> None:
    quill = lab.sight("quill")
    ScopeState.objects.filter(item="ops-runbook").update(raw="fail", reason="criterion")
    form = FORM | {"shown": shown_on(quill.text(PATH))}
    ScopeState.objects.filter(item="ops-runbook").update(raw="pass", reason="")

    assert quill.client.post(PATH, form).status_code == 409


@pytest.mark.parametrize("shown", [{}, {"shown": ""}, {"shown": "0" * 64}, {"shown": "0" * 65}])
def test_nobody_forces_a_gate_without_having_seen_what_is_in_the_way(lab: Lab, shown: dict[str, str]) -> None:
    assert lab.sight("quill").client.post(PATH, FORM | shown).status_code in (409, 422)
    assert not Override.objects.exists()
