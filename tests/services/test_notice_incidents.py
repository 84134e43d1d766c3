"""Whoever leads learns of incidents, however they were opened: one message, not one an incident."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import translation
from pytest_django import Settings

from checks.domain.incidents.kinds import Standing, Weight
from checks.models import Cluster, Role, Run, Stage
from checks.services.incident_flips import open_for_flips
from checks.services.incident_records import Author
from checks.services.incidents import move_incident
from checks.services.notice_sending import send_notices
from checks.services.notice_watch import watch_for_notices
from portal.accounts.models import User
from tests.incidents import fails, opened
from tests.lab import NOON, healthy_node, lab
from tests.people import person
from tests.runs import a_run

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def cluster(settings: Settings) -> Cluster:
    """helios, whose incidents are watched from noon on."""
    settings.MAILS_PEOPLE = True
    cluster = lab("helios")
    watch_for_notices(now=NOON)
    return cluster


def somebody(name: str, cluster: Cluster, role: Role) -> User:
    found = person(name, cluster, role)
    found.email = f"{name}@example.org"
    found.save()
    return found


def told(at: int) -> list[Any]:
    """The mails about what was written down by *at* minutes after noon; a look lets a minute pass."""
    mail.outbox.clear()
    watch_for_notices(now=NOON + (at + 1) * MINUTE)
    send_notices(now=NOON + (at + 1) * MINUTE)
    return list(mail.outbox)


def test_twenty_at_once_are_one_message_to_whoever_leads(cluster: Cluster) -> None:
    somebody("lead", cluster, Role.LEAD)
    somebody("vera", cluster, Role.VIEWER)
    for index in range(20):
        opened(cluster, now=NOON + MINUTE, source="flip", title=f"xid-79 on gpu{index:03}", error_class=f"x-{index}")
    mails = told(at=2)

    assert [(one.to, one.subject) for one in mails] == [(["lead@example.org"], "[Countersign] 20 incidents: helios")]
    assert "xid-79 on gpu004; 15 more" in mails[0].body
    assert told(at=3) == []


def test_the_owner_of_the_run_that_it_struck_is_told_and_its_author_is_not(cluster: Cluster) -> None:
    lead, owner = somebody("lead", cluster, Role.LEAD), somebody("owner", cluster, Role.PLATFORM)
    for name in ("gpu001", "gpu002"):
        healthy_node(cluster, name)
    run = a_run(cluster, "gpu[001-002]", by=owner)
    opened(cluster, by=lead, now=NOON + MINUTE, run=run, weight=Weight.CRITICAL)
    mails = told(at=2)

    assert [one.to for one in mails] == [["owner@example.org"]]
    assert "Rank 3 hangs in all-reduce (run-7)" in mails[0].body
    assert mails[0].extra_headers == {"Importance": "high"}


def test_one_that_comes_back_is_told_again_and_says_so(cluster: Cluster) -> None:
    lead = somebody("lead", cluster, Role.LEAD)
    incident = opened(cluster, now=NOON + MINUTE, source="flip").incident
    told(at=2)
    move_incident(incident=incident, to=Standing.STABLE, author=Author(lead), now=NOON + 3 * MINUTE)
    opened(cluster, now=NOON + 9 * MINUTE, source="flip", started_at=NOON + 8 * MINUTE, detected_at=NOON + 9 * MINUTE)

    assert "(2 times)" in told(at=10)[0].body


def test_whoever_opened_it_long_ago_is_told_when_it_comes_back_without_them(cluster: Cluster) -> None:
    lead = somebody("lead", cluster, Role.LEAD)
    incident = opened(cluster, by=lead, now=NOON + MINUTE).incident
    told(at=2)
    move_incident(incident=incident, to=Standing.STABLE, author=Author(lead), now=NOON + 3 * MINUTE)
    opened(cluster, now=NOON + 9 * MINUTE, source="flip", started_at=NOON + 8 * MINUTE, detected_at=NOON + 9 * MINUTE)

    assert [one.to for one in told(at=10)] == [["lead@example.org"]]


def test_what_was_written_down_late_with_an_earlier_time_is_told_too(cluster: Cluster) -> None:
    """It waited for a lock while somebody looked."""
    somebody("lead", cluster, Role.LEAD)
    watch_for_notices(now=NOON + 2 * MINUTE)
    opened(cluster, now=NOON + 2 * MINUTE - timedelta(seconds=10), source="flip")

    assert len(told(at=2)) == 1


def test_what_is_over_already_is_not_told(cluster: Cluster) -> None:
    lead = somebody("lead", cluster, Role.LEAD)
    incident = opened(cluster, now=NOON + MINUTE, source="flip").incident
    move_incident(incident=incident, to=Standing.STABLE, author=Author(lead), now=NOON + MINUTE)

    assert told(at=2) == []


def test_a_reader_of_chinese_is_told_in_chinese(cluster: Cluster) -> None:
    lead = somebody("lead", cluster, Role.LEAD)
    lead.language = "zh-hans"
    lead.save()
    opened(cluster, now=NOON + MINUTE, source="flip")
    with translation.override("en"):
        assert told(at=2)[0].subject == "[Countersign] helios：1 起事故"


def test_what_a_failure_opened_is_told_too(cluster: Cluster) -> None:
    somebody("lead", cluster, Role.LEAD)
    for host in ("gpu001", "gpu002"):
        healthy_node(cluster, host)
    a_run(cluster, "gpu[001-002]")
    Run.objects.update(stage=Stage.RUNNING)
    fails(cluster, "gpu001", at=NOON + MINUTE)
    open_for_flips(now=NOON + 2 * MINUTE)

    assert [one.subject for one in told(at=3)] == ["[Countersign] 1 incident: helios"]
