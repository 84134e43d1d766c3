"""What people decide about a node: who may, what they are told first, and what the second of two is told."""

import json
import re

import pytest
from django.test import Client
from django.utils import timezone

from checks.models import LedgerEntry, Node, Role
from checks.services.enrolment import AlreadyEnrolled, Enrolment, enrol_node
from checks.services.nodes import confirm_node
from portal.accounts.models import User
from tests.fleet import Fleet, person
from tests.ui.conftest import MINUTE, Sight, seen_by

NODE = "/clusters/helios/nodes/gpu-001/"
ALLOW, CONFIRM, RETIRE = (f"{NODE}decide/{key}/" for key in ("allow-reenrolment", "confirm", "retire"))
DECIDE = {Role.HARDWARE, Role.PLATFORM, Role.LEAD, Role.ADMIN}
WHY = {"reason": "mainboard replaced"}


@pytest.fixture
def swapped(fleet: Fleet) -> Node:
    """gpu-001 after somebody exchanged a GPU."""
    node = fleet.node("gpu-001")
    node.serials = {"system": "SYS-1", "gpu3": "1650924001234"}
    node.trouble, node.unconfirmed_serials = "hardware_changed", {"gpu3": "1650924005678"}
    node.save()
    return node


def _told(sight: Sight, path: str, data: dict[str, str]) -> str:
    """What the reader is told after they pressed the button."""
    answer = sight.client.post(path, data, follow=True)
    assert answer.status_code == 200
    said = re.search(r'role="status">.*?<p>(.*?)</p>', answer.content.decode(), re.DOTALL)
    assert said
    return said[1]


def _acts() -> list[tuple[str, str, str]]:
    rows = LedgerEntry.objects.filter(who__isnull=False, target="helios/gpu-001").order_by("id")
    return [(row.what, row.who.username, row.reason) for row in rows if row.who]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("path", [ALLOW, CONFIRM, RETIRE])
def test_whoever_answers_for_machines_decides_and_nobody_else(swapped: Node, path: str, role: Role) -> None:
    client = seen_by(person("p", swapped.cluster, role)).client
    assert client.get(path).status_code == (200 if role in DECIDE else 403)
    posted = client.post(path, {**WHY, "seen": json.dumps(swapped.unconfirmed_serials)})
    assert posted.status_code == (302 if role in DECIDE else 403)
    assert len(_acts()) == (role in DECIDE)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DATA])
def test_whoever_may_not_sees_who_can_do_it_instead_of_a_button(swapped: Node, hana: User, role: Role) -> None:
    page = seen_by(person("vera", swapped.cluster, role)).text(NODE)
    assert "/decide/" not in page
    assert "Re-enrolment, changed hardware and retirement are decided by:" in page
    assert "<dt>hardware engineer</dt><dd>Hana</dd>" in page
    assert "1650924005678" in page  # what changed is no secret


def test_a_stranger_s_node_does_not_exist(fleet: Fleet) -> None:
    omar = seen_by(person("omar")).client
    assert [omar.post(path, WHY).status_code for path in (ALLOW, CONFIRM, RETIRE)] == [404, 404, 404]


def test_nothing_happens_without_the_token_of_the_form(fleet: Fleet, hana: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(hana)
    assert client.post(RETIRE, WHY).status_code == 403
    assert not _acts()


def test_looking_at_what_follows_changes_nothing(sight: Sight, swapped: Node) -> None:
    before = Node.objects.filter(pk=swapped.pk).values().get()
    for path in (ALLOW, CONFIRM, RETIRE):
        sight.text(path)
    assert Node.objects.filter(pk=swapped.pk).values().get() == before
    assert not _acts()


def test_a_decision_without_a_reason_is_asked_for_one(sight: Sight, fleet: Fleet) -> None:
    answer = sight.client.post(RETIRE, {"reason": " "})
    assert answer.status_code == 422
    assert "This field is required." in answer.content.decode()
    assert not _acts()


def test_the_node_s_page_leads_to_each_decision_and_names_its_consequence(sight: Sight, swapped: Node) -> None:
    page = sight.text(NODE)
    assert all(f'"{path}"' in page for path in (ALLOW, CONFIRM, RETIRE))
    assert "takes over this node&#x27;s name and history" in sight.text(ALLOW)
    assert "counts again from its next report" in sight.text(CONFIRM)
    assert "its agent&#x27;s token ends at once" in sight.text(RETIRE)
    assert "GPU 3 of gpu-001 is judged no more" in sight.text(RETIRE, part="gpu3")


def test_a_re_enrolment_that_was_allowed_says_until_when_and_by_whom(sight: Sight, fleet: Fleet) -> None:
    assert "may enrol again" in _told(sight, ALLOW, WHY)
    node = fleet.node("gpu-001")
    assert node.reenrol_until
    assert 880 < (node.reenrol_until - timezone.now()).total_seconds() <= 900
    page = sight.text(NODE)
    assert f"{node.reenrol_until:%H:%M}</time> UTC. Allowed by Hana: mainboard replaced" in page
    assert ALLOW not in page
    assert _acts() == [("reenrolment_allowed", "hana", "mainboard replaced")]


def test_what_a_refused_machine_is_told_to_ask_for_is_on_the_page_it_names(sight: Sight, fleet: Fleet) -> None:
    again = Enrolment("gpu-001", {}, "boot", "1", "live")
    with pytest.raises(AlreadyEnrolled, match="press “Allow re-enrolment” on the node's page"):
        enrol_node(bearer=fleet.enrolment, enrolment=again, address=None, now=timezone.now())
    assert ">Allow re-enrolment</a>" in sight.text(NODE)
    sight.client.post(ALLOW, WHY)
    enrolled = enrol_node(bearer=fleet.enrolment, enrolment=again, address=None, now=timezone.now())
    assert enrolled.node.hostname == "gpu-001"


def test_the_second_who_allows_a_re_enrolment_is_told_until_when_it_is_open(sight: Sight, fleet: Fleet) -> None:
    sight.client.post(ALLOW, WHY)
    until = fleet.node("gpu-001").reenrol_until
    pia = seen_by(person("pia", fleet.cluster, Role.PLATFORM))
    assert _told(pia, ALLOW, WHY) == f"Somebody allowed it already: it may enrol again until {until:%H:%M} UTC."
    assert fleet.node("gpu-001").reenrol_until == until
    assert len(_acts()) == 1


def test_a_leave_that_ended_can_be_given_again(sight: Sight, fleet: Fleet) -> None:
    Node.objects.filter(hostname="gpu-001").update(reenrol_until=timezone.now() - MINUTE)
    assert "Allowed by" not in sight.text(NODE)
    assert "may enrol again" in _told(sight, ALLOW, WHY)


def test_old_and_new_serial_stand_beside_each_other(sight: Sight, swapped: Node) -> None:
    page = sight.text(CONFIRM)
    row = (
        '<th scope="row" class="id">gpu3</th><td class="id">1650924001234</td><td class="id"><b>1650924005678</b></td>'
    )
    assert row in page
    assert "SYS-1" not in page  # it did not change


def test_confirmed_hardware_is_believed_and_the_new_serial_kept(sight: Sight, swapped: Node) -> None:
    seen = re.search(r'name="seen" value="([^"]*)"', sight.text(CONFIRM))
    assert seen
    said = _told(sight, CONFIRM, {**WHY, "seen": seen[1].replace("&quot;", '"')})
    assert said == "gpu-001 is believed again from its next report."
    swapped.refresh_from_db()
    assert (swapped.trouble, swapped.serials["gpu3"], swapped.unconfirmed_serials) == ("", "1650924005678", {})
    assert _acts() == [("node_confirmed", "hana", "mainboard replaced")]


def test_the_second_who_confirms_is_told_that_somebody_was_faster(sight: Sight, swapped: Node, hana: User) -> None:
    confirm_node(node=swapped, by=hana, reason="seen it", now=timezone.now())
    assert _told(sight, CONFIRM, WHY) == "Nothing waits for a confirmation any more: somebody was faster."
    assert len(_acts()) == 1


def test_a_serial_that_nobody_looked_at_is_not_confirmed(sight: Sight, swapped: Node) -> None:
    looked_at = json.dumps(swapped.unconfirmed_serials)
    Node.objects.filter(pk=swapped.pk).update(unconfirmed_serials={"gpu3": "1650924005678", "gpu4": "1650924009999"})
    assert "The serials changed again" in _told(sight, CONFIRM, {**WHY, "seen": looked_at})
    swapped.refresh_from_db()
    assert swapped.trouble == "hardware_changed"
    assert not _acts()


def test_two_machines_under_one_name_are_confirmed_as_one(sight: Sight, fleet: Fleet) -> None:
    Node.objects.filter(hostname="gpu-001").update(trouble="boot_conflict")
    assert "one machine alone reports as gpu-001" in sight.text(CONFIRM)
    _told(sight, CONFIRM, WHY)
    assert fleet.node("gpu-001").trouble == ""


def test_a_retired_node_says_by_whom_and_why_and_the_second_is_told_so(sight: Sight, fleet: Fleet) -> None:
    assert _told(sight, RETIRE, WHY) == "gpu-001 is retired, and its token revoked."
    page = sight.text(NODE)
    assert "Retired by Hana: mainboard replaced" in page
    assert RETIRE not in page
    assert ALLOW in page  # the way back
    assert _told(sight, RETIRE, WHY) == "It is retired already: somebody was faster."
    assert _acts() == [("node_retired", "hana", "mainboard replaced")]


def test_a_part_is_retired_alone_and_its_rows_go(sight: Sight, fleet: Fleet) -> None:
    assert _told(sight, RETIRE, {**WHY, "part": "gpu7"}) == "GPU 7 of gpu-001 is retired."
    page = sight.text(NODE)
    assert '<option value="gpu6">GPU 6</option>' in page
    assert '<option value="gpu7">' not in page
    assert "<dt>gpu7</dt><dd>retired: mainboard replaced</dd>" in page
    assert _told(sight, RETIRE, {**WHY, "part": "gpu7"}) == "It is retired already: somebody was faster."
    assert fleet.node("gpu-001").retired_at is None


def test_there_is_no_other_decision_and_no_other_part(sight: Sight, fleet: Fleet) -> None:
    sight.text(f"{NODE}decide/promote/", status=404)
    sight.text(RETIRE, status=404, part="case")
