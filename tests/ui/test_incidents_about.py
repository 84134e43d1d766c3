"""A machine's and a run's own incidents, on their pages."""

import re
from datetime import datetime, timedelta
from typing import Any

from checks.domain.incidents.kinds import Standing
from checks.models import Incident, Role
from checks.services.incident_records import Author, Touched
from checks.services.incidents import merge_incident, move_incident
from portal.accounts.models import User
from tests.fleet import Fleet, person
from tests.incidents import opened
from tests.runs import a_run
from tests.ui.conftest import Sight, seen_by

HOUR = timedelta(hours=1)
NODE = "/clusters/helios/nodes/gpu-001/"


def sheet(page: str) -> str:
    """The part of a page that is about incidents."""
    return page.partition('aria-labelledby="in"')[2].partition("</section>")[0]


def marker_in(page: str) -> str:
    """What a page's poll sends along."""
    (found,) = re.findall(r"marker[^0-9a-f]{1,12}([0-9a-f]{16})", page)
    return str(found)


def told(fleet: Fleet, by: User, now: datetime, number: int, **more: Any) -> None:
    """*number* incidents, each with a trouble of its own, on gpu-001."""
    for index in range(number):
        opened(fleet.cluster, by=by, now=now, title=f"trouble {index}", started_at=now - HOUR, detected_at=now - HOUR,
               error_class=f"class-{index}", touched=(Touched("gpu-001", "gpu3"),), **more)  # fmt: skip


def test_a_machines_page_shows_what_touched_it(fleet: Fleet, hana: User, sight: Sight, now: datetime) -> None:
    told(fleet, hana, now, 1, gpus_affected=16)

    assert "trouble 0" in sheet(sight.text(NODE))
    assert "16 GPU-hours" in sheet(sight.text(NODE))
    assert "trouble 0" not in sight.text("/clusters/helios/nodes/gpu-002/")


def test_five_are_shown_and_the_rest_is_one_click_away(fleet: Fleet, hana: User, sight: Sight, now: datetime) -> None:
    told(fleet, hana, now, 6)
    shown = sheet(sight.text(NODE))

    assert [name for name in range(6) if f"trouble {name}<" in shown] == [1, 2, 3, 4, 5]
    assert "/incidents/?cluster=helios&amp;node=gpu-001" in shown
    assert "trouble 0" in sight.text("/incidents/?cluster=helios&node=gpu-001")


def test_what_was_merged_is_not_told_twice(fleet: Fleet, hana: User, sight: Sight, now: datetime) -> None:
    told(fleet, hana, now, 2)
    first, second = Incident.objects.order_by("pk")
    merge_incident(incident=second, into=first, author=Author(hana), reason="one cable", now=now)

    assert "trouble 0" in sheet(sight.text(NODE))
    assert "trouble 1" not in sheet(sight.text(NODE))


def test_whoever_may_act_opens_one_from_there_and_a_viewer_sees_no_empty_sheet(fleet: Fleet, sight: Sight) -> None:
    assert "/clusters/helios/incidents/new/?nodes=gpu-001" in sheet(sight.text(NODE))
    assert sheet(seen_by(person("vera", fleet.cluster, Role.VIEWER)).text(NODE)) == ""


def test_a_runs_page_shows_its_own(fleet: Fleet, hana: User, sight: Sight, now: datetime) -> None:
    run = a_run(fleet.cluster, "gpu-[001-002]")
    told(fleet, hana, now, 1, run=run)
    opened(fleet.cluster, by=hana, now=now, title="another's", started_at=now, detected_at=now)
    shown = sheet(sight.text(f"/runs/{run.slug}/"))

    assert "trouble 0" in shown
    assert "another&#x27;s" not in shown
    assert f"/clusters/helios/incidents/new/?run={run.slug}" in shown
    assert "trouble 0" in sight.text(f"/incidents/?run={run.slug}")
    assert "trouble 0" not in sight.text("/incidents/?run=another")


def test_the_pages_marker_moves_with_an_incident(fleet: Fleet, hana: User, sight: Sight, now: datetime) -> None:
    """A page that polls is sent again once an incident ended."""
    incident = opened(fleet.cluster, by=hana, now=now, started_at=now - HOUR, detected_at=now - HOUR,
                      touched=(Touched("gpu-001"),)).incident  # fmt: skip
    marker = marker_in(sight.text(NODE))
    assert sight.client.get(NODE, {"marker": marker}, headers={"HX-Request": "true"}).status_code == 204
    move_incident(incident=incident, to=Standing.STABLE, author=Author(hana), now=now)

    assert sight.client.get(NODE, {"marker": marker}, headers={"HX-Request": "true"}).status_code == 200
