"""Incidents are opened once, joined, come back with their actions, are moved and merged."""

from datetime import timedelta
from decimal import Decimal

import pytest

from checks.domain.incidents.kinds import ActionKind, ActionState, Component, Relation, Standing
from checks.domain.incidents.recurring import Meeting
from checks.models import Cluster, Incident, IncidentEvent, LedgerEntry, Node, Role
from checks.selectors.incident_losses import with_losses
from checks.services.costs import price_cluster
from checks.services.incident_actions import Plan, move_action, propose_action, verify_action
from checks.services.incident_links import Linking, link_item
from checks.services.incident_records import PORTAL, Author, CannotMove, IncidentRefused, IncidentTimes, Touched, touch
from checks.services.incidents import merge_incident, move_incident, note_on_incident, revise_incident
from checks.services.markdown import ScriptRefused
from checks.services.permissions import MayNot, ReasonMissing
from portal.accounts.models import User
from tests.incidents import opened
from tests.lab import HOUR, NOON, healthy_node, lab
from tests.people import person

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def cluster() -> Cluster:
    made = lab()
    for number in (1, 2):
        healthy_node(made, f"gpu00{number}")
        Node.objects.filter(hostname=f"gpu00{number}").update(
            serials={"system": f"SRV-{number}", "gpu3": f"GPU-{number}3", "gpu4": f"GPU-{number}4"}
        )
    return made


@pytest.fixture
def hana(cluster: Cluster) -> User:
    return person("hana", cluster, Role.HARDWARE)


def lost(incident: Incident, *, now: object = NOON) -> int | None:
    found: int | None = with_losses(Incident.objects.filter(pk=incident.pk), now=now).get().lost_s  # type: ignore[arg-type]
    return found


def kinds(incident: Incident) -> list[str]:
    return list(incident.events.order_by("id").values_list("kind", flat=True))


def test_an_incident_notes_the_serials_of_that_day(cluster: Cluster, hana: User) -> None:
    incident = opened(cluster, by=hana).incident
    Node.objects.filter(hostname="gpu001").update(serials={"system": "SRV-9"})

    (row,) = incident.touched.all()
    assert (row.hostname, row.machine_serial, row.part_serial) == ("gpu001", "SRV-1", "GPU-13")
    assert incident.fingerprint == "faulty_gpu/xid-79/GPU-13"
    assert kinds(incident) == ["opened"]
    assert LedgerEntry.objects.get(what="incident_opened").target == f"INC-{incident.pk:04}"


def test_what_a_program_tells_twice_is_one_incident(cluster: Cluster) -> None:
    first = opened(cluster, source="pager", external_id="P-1")
    again = opened(cluster, source="pager", external_id="P-1", title="Told once more")
    other = opened(cluster, source="watchdog", external_id="P-1", error_class="")

    assert (again.incident, again.known) == (first.incident, True)
    assert other.incident != first.incident
    assert (Incident.objects.count(), IncidentEvent.objects.filter(kind="opened").count()) == (2, 2)


def test_the_same_trouble_joins_the_incident_that_is_open(cluster: Cluster) -> None:
    first = opened(cluster).incident
    found = opened(cluster, title="Xid 79 again")

    assert (found.incident, found.meeting) == (first, Meeting.JOINS)
    assert kinds(first) == ["opened", "seen_again"]


def test_another_part_or_no_class_of_error_is_another_trouble(cluster: Cluster) -> None:
    opened(cluster)
    opened(cluster, touched=(Touched("gpu001", "gpu4"),))
    opened(cluster, error_class="")
    opened(cluster, error_class="")

    assert Incident.objects.count() == 4


def test_a_part_that_comes_back_in_another_machine_is_recognised(cluster: Cluster) -> None:
    first = opened(cluster).incident
    Node.objects.filter(hostname="gpu002").update(serials={"system": "SRV-2", "gpu0": "GPU-13"})

    assert opened(cluster, touched=(Touched("gpu002", "gpu0"),)).incident == first


def ended(incident: Incident, hana: User, *, at: object = NOON - HOUR) -> Incident:
    move_incident(incident=incident, to=Standing.STABLE, author=Author(hana), now=NOON, at=at)  # type: ignore[arg-type]
    return move_incident(incident=incident, to=Standing.CLOSED, author=Author(hana), now=NOON)


def test_a_trouble_that_comes_back_within_90_days_opens_its_incident_and_its_actions_again(
    cluster: Cluster, hana: User
) -> None:
    incident = opened(cluster, gpus_affected=8).incident
    plan = Plan(ActionKind.HARDWARE, "Swap the riser", owner=hana)
    action = propose_action(incident=incident, plan=plan, author=Author(hana), now=NOON)
    move_action(action=action, to=ActionState.ACCEPTED, author=Author(hana), now=NOON)
    move_action(action=action, to=ActionState.DONE, author=Author(hana), now=NOON)
    verify_action(action=action, proof="burned in", author=Author(person("wren", cluster, Role.PLATFORM)), now=NOON)
    ended(incident, hana)
    later = NOON + 80 * DAY

    found = opened(cluster, now=later, started_at=later - HOUR, detected_at=later, gpus_affected=8)

    incident.refresh_from_db()
    action.refresh_from_db()
    assert (found.incident, found.meeting) == (incident, Meeting.REOPENS)
    assert (incident.standing, incident.occurrences, incident.stable_at) == ("open", 2, None)
    assert (action.state, action.verified_at, action.proof) == ("accepted", None, "")
    # 8 GPUs for two hours then, and for one hour now.
    assert lost(incident, now=later) == 8 * 7200 + 8 * 3600


def test_a_trouble_that_comes_back_after_90_days_is_a_new_one(cluster: Cluster, hana: User) -> None:
    first = ended(opened(cluster).incident, hana)
    later = NOON + 91 * DAY

    assert opened(cluster, now=later, started_at=later, detected_at=later).incident != first


def test_gpu_hours_are_gpus_times_standstill_and_work_to_be_done_again(cluster: Cluster, hana: User) -> None:
    incident = opened(cluster, gpus_affected=256, lost_work_s=1800).incident
    assert lost(incident) == 256 * (3 * 3600 + 1800)

    move_incident(incident=incident, to=Standing.STABLE, author=Author(hana), now=NOON, at=NOON - HOUR)
    assert lost(incident, now=NOON + DAY) == 256 * (2 * 3600 + 1800)


def test_nobody_knows_what_was_lost_until_somebody_says_how_many_gpus_stood_still(cluster: Cluster) -> None:
    assert lost(opened(cluster).incident) is None
    assert lost(opened(cluster, error_class="", told_gpu_seconds=900).incident) == 900


def test_an_incident_keeps_the_price_of_its_day(cluster: Cluster, hana: User) -> None:
    lead = person("lead", cluster, Role.LEAD)
    price_cluster(cluster=cluster, amount=Decimal("6.88"), reason="contract", by=lead, now=NOON - DAY)
    incident = opened(cluster, gpus_affected=8).incident
    price_cluster(cluster=cluster, amount=Decimal("9.00"), reason="contract", by=lead, now=NOON)
    note_on_incident(incident=incident, text="drained", author=Author(hana), now=NOON)

    incident.refresh_from_db()
    assert incident.usd_per_gpu_hour == Decimal("6.88")


def test_merging_moves_machines_items_and_first_moments_and_loses_nothing_twice(cluster: Cluster, hana: User) -> None:
    kept = opened(cluster, gpus_affected=8).incident
    other = opened(
        cluster, error_class="", touched=(Touched("gpu002"),), started_at=NOON - 5 * HOUR,
        detected_at=NOON - 4 * HOUR, gpus_affected=8, links=(Linking("gpu-xid", Relation.CAUGHT),),
    ).incident  # fmt: skip

    merge_incident(incident=other, into=kept, author=Author(hana), reason="one power event", now=NOON)

    kept.refresh_from_db()
    other.refresh_from_db()
    assert (other.standing, other.merged_into, kept.started_at) == ("merged", kept, NOON - 5 * HOUR)
    assert [row.hostname for row in kept.touched.all()] == ["gpu001", "gpu002"]
    assert kept.links.get().item == "gpu-xid"
    assert lost(kept) == 8 * 5 * 3600


def test_an_incident_of_more_machines_than_anybody_may_tell_at_once_is_merged_whole(
    cluster: Cluster, hana: User
) -> None:
    large, into = (opened(cluster, error_class="").incident for _ in range(2))
    for first in (0, 600):
        touch(large, [Touched(f"node{number}") for number in range(first, first + 600)])
    merge_incident(incident=large, into=into, author=Author(hana), reason="one switch", now=NOON)

    assert into.touched.count() == 1201


def test_a_merged_incident_goes_nowhere_and_what_is_told_of_it_reaches_the_other(cluster: Cluster, hana: User) -> None:
    kept = opened(cluster).incident
    other = opened(cluster, error_class="", source="pager", external_id="P-1").incident
    merge_incident(incident=other, into=kept, author=Author(hana), reason="the same", now=NOON)

    assert opened(cluster, error_class="", source="pager", external_id="P-1").incident == kept
    with pytest.raises(CannotMove):
        move_incident(incident=other, to=Standing.STABLE, author=Author(hana), now=NOON)
    with pytest.raises(IncidentRefused):
        merge_incident(incident=kept, into=other, author=Author(hana), reason="back", now=NOON)


def test_a_later_word_about_an_item_replaces_the_earlier_one(cluster: Cluster, hana: User) -> None:
    incident = opened(cluster).incident
    for relation in (Relation.RELATED, Relation.SHOULD_HAVE_CAUGHT):
        link_item(incident=incident, linking=Linking("gpu-xid", relation), author=Author(hana), now=NOON)

    assert [(link.item, link.relation) for link in incident.links.all()] == [("gpu-xid", "should_have_caught")]
    with pytest.raises(IncidentRefused):
        link_item(incident=incident, linking=Linking("no-such", Relation.RELATED), author=Author(hana), now=NOON)


def test_a_correction_says_what_was_there_before(cluster: Cluster, hana: User) -> None:
    incident = opened(cluster).incident
    changes = {"component": Component.NVLINK, "gpus_affected": 64}
    touched = (Touched("gpu002", "gpu3"),)
    revise_incident(incident=incident, changes=changes, touched=touched, author=Author(hana), now=NOON)

    event = incident.events.get(kind="changed")
    assert event.data == {
        "component": {"before": "faulty_gpu", "after": "nvlink"}, "gpus_affected": {"before": None, "after": 64},
        "nodes": {"before": ["gpu001 gpu3"], "after": ["gpu002 gpu3"]},
    }  # fmt: skip
    incident.refresh_from_db()
    assert incident.fingerprint == "nvlink/xid-79/GPU-23"


def test_a_correction_that_corrects_nothing_leaves_no_trace(cluster: Cluster, hana: User) -> None:
    incident = opened(cluster).incident
    revise_incident(incident=incident, changes={"title": incident.title}, author=Author(hana), now=NOON)

    assert kinds(incident) == ["opened"]


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"title": " "}, IncidentRefused), ({"title": "x" * 201}, IncidentRefused),
        ({"title": "a\u202eb"}, IncidentRefused),
        ({"summary": "x" * 20_001}, IncidentRefused), ({"gpus_affected": -1}, IncidentRefused),
        ({"detected_at": NOON - 4 * HOUR}, IncidentTimes), ({"detected_at": NOON + HOUR}, IncidentTimes),
        ({"summary": "see <script>alert(1)</script>"}, ScriptRefused),
        ({"summary": "<img src=x onerror=alert(1)>"}, ScriptRefused),
        ({"summary": "[here](javascript:alert(1))"}, ScriptRefused),
        ({"touched": (Touched("a\nb"),)}, IncidentRefused),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(
    cluster: Cluster, changes: dict[str, object], refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        opened(cluster, **changes)  # type: ignore[arg-type]
    assert not Incident.objects.exists()


def test_code_may_show_what_a_browser_would_run(cluster: Cluster) -> None:
    incident = opened(cluster, summary="The page held `<script>alert(1)</script>`, mount <host>.").incident

    assert "<script>" in incident.summary


def test_strangers_and_viewers_change_nothing(cluster: Cluster) -> None:
    incident = opened(cluster).incident
    for who in (person("omar"), person("vera", cluster, Role.VIEWER)):
        with pytest.raises(MayNot):
            note_on_incident(incident=incident, text="hello", author=Author(who), now=NOON)
        with pytest.raises(MayNot):
            opened(cluster, by=who)


def test_a_line_that_says_nothing_or_comes_from_the_future_is_none(cluster: Cluster) -> None:
    incident = opened(cluster).incident
    with pytest.raises(ReasonMissing):
        note_on_incident(incident=incident, text=" ", author=PORTAL, now=NOON)
    with pytest.raises(IncidentRefused):
        note_on_incident(incident=incident, text="soon", author=PORTAL, now=NOON, at=NOON + HOUR)
