"""What incidents teach an item: its page counts them, its back-test moves, and a proposal waits for a second person."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from checks.domain.incidents.kinds import Relation
from checks.models import Cluster, Node, Role, ThresholdApproval, ThresholdProposal, ValueRollup
from checks.services.incident_links import Linking
from checks.services.incident_records import Touched
from portal.accounts.models import User
from tests.fleet import Fleet, person
from tests.incidents import opened
from tests.ui.conftest import Sight, seen_by
from tests.ui.test_step_up import prove

ITEM = "/clusters/helios/items/sysctl-netdev-backlog/"
TEST = f"{ITEM}back-test/"
MINUTE = timedelta(minutes=1)
PROPOSE = f"{ITEM}propose/"


@pytest.fixture
def today(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
def learned(fleet: Fleet, now: datetime, today: datetime) -> None:
    """Today gpu-001 stood at 6,000 and had an incident that the item should have caught; two others at 250,000."""
    values = {"gpu-001": 6_000.0, "gpu-002": 250_000.0, "gpu-003": 250_000.0}
    for host, value in values.items():
        ValueRollup.objects.create(
            node=Node.objects.get(hostname=host), item="sysctl-netdev-backlog", subject="", name="live", grain="day",
            at=today, least=value, greatest=value, last=value, samples=288,
        )  # fmt: skip
    opened(
        fleet.cluster, now=now, started_at=now - MINUTE, detected_at=now - MINUTE, touched=(Touched("gpu-001"),),
        gpus_affected=8, links=(Linking("sysctl-netdev-backlog", Relation.SHOULD_HAVE_CAUGHT),),
    )  # fmt: skip


def test_an_items_page_counts_what_escaped_it_and_leads_to_its_back_test(sight: Sight) -> None:
    page = sight.text(ITEM)

    assert "caught 0, escaped 1, false alarms 0" in page
    assert TEST in page
    assert "Rank 3 hangs in all-reduce" in page


def test_a_moved_threshold_shows_its_false_alarms_and_misses_with_and_without_a_script(sight: Sight) -> None:
    page = sight.text(TEST, threshold="10000")
    part = sight.client.get(TEST, {"threshold": "10000"}, headers={"HX-Request": "true"}).content.decode()

    for text in (page, part):
        assert "Propose ≥ 10,000" in text
        assert text.count('<td class="num" data-label="Misses">1</td>') == 1  # at 5,000, which is in force
        assert text.count('<td class="num" data-label="Misses">0</td>') == 1
    assert "<html" not in part


@pytest.mark.parametrize("threshold", ["", "nan", "1e999", "ten", "-5"])
def test_a_threshold_that_is_no_number_is_no_error(sight: Sight, threshold: str) -> None:
    sight.text(TEST, threshold=threshold)


def test_the_histogram_is_a_file_too(sight: Sight) -> None:
    lines = b"".join(sight.client.get(f"{ITEM}back-test.csv")).decode().splitlines()

    assert lines[0] == "low,high,good,before_incident"
    assert sum(int(line.split(",")[2]) for line in lines[1:]) == 2
    assert sum(int(line.split(",")[3]) for line in lines[1:]) == 1


def test_an_item_without_a_number_to_move_has_no_back_test(sight: Sight) -> None:
    assert "back-test" not in sight.text("/clusters/helios/items/gpu-fabric/")
    sight.text("/clusters/helios/items/gpu-fabric/back-test/", status=404)


def proposed(fleet: Fleet, hana: User, **changes: Any) -> ThresholdProposal:
    client = seen_by(hana).client
    prove(client, "/")
    client.post(PROPOSE, {"threshold": "10000", "reason": "6,000 was too little", "fact": "live"} | changes)
    return ThresholdProposal.objects.get()


def test_a_proposal_stands_in_shadow_until_a_second_person_accepts_it(fleet: Fleet, hana: User, now: datetime) -> None:
    proposal = proposed(fleet, hana)
    address = f"/clusters/helios/thresholds/{proposal.pk}/accept/"
    wren = seen_by(person("wren", fleet.cluster, Role.PLATFORM))
    prove(wren.client, "/")
    assert "in shadow" in wren.text(ITEM)
    assert wren.client.post(address).status_code == 409  # nothing was measured since
    for host in ("gpu-001", "gpu-002", "gpu-003"):
        fleet.report(host, at=proposal.proposed_at + MINUTE)
    assert "You proposed it yourself" in seen_by(hana).text(address)

    assert wren.client.post(address).status_code == 302
    assert Cluster.objects.get(slug="helios").overrides["sysctl-netdev-backlog"]["live"]["threshold"] == 10_000


@pytest.mark.parametrize("role", list(Role))
def test_each_role_looks_and_only_those_who_work_there_propose_and_accept(fleet: Fleet, hana: User, role: Role) -> None:
    proposal = proposed(fleet, hana)
    client = seen_by(person(f"some-{role}", fleet.cluster, role)).client
    accept = f"/clusters/helios/thresholds/{proposal.pk}/accept/"

    assert client.get(TEST).status_code == 200
    assert client.get(PROPOSE).status_code == (403 if role is Role.VIEWER else 200)
    assert client.get(accept).status_code == (403 if role in (Role.VIEWER, Role.DATA) else 200)
    for path in (PROPOSE, accept):  # without a fresh proof
        assert client.post(path, {"threshold": "7000", "reason": "x"}).status_code in (302, 403)
    assert (ThresholdProposal.objects.count(), ThresholdApproval.objects.count()) == (1, 0)


def test_strangers_and_nobody_see_none_of_it(fleet: Fleet, hana: User) -> None:
    number = proposed(fleet, hana).pk
    omar = seen_by(person("omar")).client
    for path in (TEST, f"{ITEM}back-test.csv", PROPOSE, f"/clusters/helios/thresholds/{number}/accept/"):
        assert omar.get(path).status_code == 404, path
        omar.logout()
        assert omar.get(path).status_code == 302, path
        omar.force_login(User.objects.get(username="omar"))
