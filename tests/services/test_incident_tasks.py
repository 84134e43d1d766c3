"""The worker opens incidents by itself: breakers are looked at first, and beat asks each minute."""

from datetime import timedelta

import pytest
from django.utils import timezone

from checks.models import BreakerTrip, Incident, Node, Run, Stage
from checks.tasks import verify_actions, watch_breakers
from portal.celery import app
from tests.fleet import healthy_nodes, make_fleet
from tests.runs import a_run

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def test_a_node_that_fails_under_a_running_run_has_an_incident_at_the_workers_next_look() -> None:
    now = timezone.now()
    fleet = make_fleet(at=now - 120 * MINUTE)
    healthy_nodes(fleet, ["gpu001", "gpu002"], at=now - 15 * MINUTE)
    a_run(fleet.cluster, "gpu[001-002]")
    Run.objects.update(stage=Stage.RUNNING)
    for minutes in (7, 4, 1):  # often enough to settle
        fleet.report("gpu001", at=now - minutes * MINUTE, changed={"gpu-pcie-width": {"width": 8}})
    watch_breakers()
    watch_breakers()

    incident = Incident.objects.get()
    assert (incident.source, incident.component, BreakerTrip.objects.count()) == ("flip", "pcie", 0)
    assert [row.node for row in incident.touched.all()] == [Node.objects.get(hostname="gpu001")] * 8
    assert incident.links.get().item == "gpu-pcie-width"


def test_beat_asks_for_both_and_both_run_without_anything_to_do() -> None:
    asked = {entry["task"] for entry in app.conf.beat_schedule.values()}
    watch_breakers()
    verify_actions()

    assert {"checks.watch_breakers", "checks.verify_actions"} <= asked
    assert not Incident.objects.exists()
