"""Failures on a cleared or running run open incidents: once, one a node, and one for a whole fleet."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from checks.models import (
    BreakerTrip,
    Cluster,
    Evidence,
    Flip,
    Incident,
    IncidentEvent,
    LedgerEntry,
    Node,
    NodeItemState,
    Run,
    Stage,
)
from checks.services import incident_flips
from checks.services.evidence import purge_evidence
from checks.services.incident_flips import open_for_flips
from checks.services.incident_opening import Opened
from checks.services.incident_records import IncidentRefused
from tests.incidents import fails, opened
from tests.lab import MINUTE, NOON, bad_row, healthy_node, lab
from tests.runs import a_run

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture
def cluster() -> Cluster:
    made = lab()
    for number in range(1, 7):
        node = healthy_node(made, f"gpu00{number}")
        Node.objects.filter(pk=node.pk).update(serials={"system": f"SRV-{number}", "gpu3": f"GPU-{number}3"})
    return made


@pytest.fixture
def run(cluster: Cluster) -> Run:
    """Runs on the first four nodes."""
    run = a_run(cluster, "gpu[001-004]")
    Run.objects.update(stage=Stage.RUNNING)
    return run


def trips(cluster: Cluster, *, at: datetime = NOON, ended: datetime | None = None) -> BreakerTrip:
    return BreakerTrip.objects.create(
        cluster=cluster, item="gpu-pcie-width", tripped_at=at, last_flip_at=at, ended_at=ended, nodes=4, of_nodes=6
    )


def columns_of(flip: Flip) -> dict[str, Any]:
    return {field.attname: getattr(flip, field.attname) for field in Flip._meta.fields if field.attname != "id"}


def refuses(monkeypatch: pytest.MonkeyPatch, *hosts: str) -> None:
    """Of these machines no incident can be kept."""

    def open_incident(**told: Any) -> Opened:
        if any(one.hostname in hosts for one in told["opening"].touched):
            raise IncidentRefused("Not this one.")
        return kept(**told)

    kept = incident_flips.open_incident
    monkeypatch.setattr(incident_flips, "open_incident", open_incident)


def test_a_failure_on_a_running_run_opens_an_incident_once(cluster: Cluster, run: Run) -> None:
    fails(cluster, "gpu001")

    assert [open_for_flips(now=NOON) for _ in range(3)] == [1, 0, 0]
    incident = Incident.objects.get()
    assert incident.title.endswith(": fails on gpu001")
    assert (incident.run, incident.source, incident.component, incident.weight) == (run, "flip", "pcie", "major")
    assert incident.fingerprint == "pcie/gpu-pcie-width/GPU-13"
    assert [(link.item, link.relation) for link in incident.links.all()] == [("gpu-pcie-width", "caught")]
    assert (incident.started_at, incident.detected_at) == (NOON - MINUTE - SECOND, NOON - MINUTE)
    assert LedgerEntry.objects.filter(what="incident_opened").count() == 1


@pytest.mark.parametrize(
    "told",
    [
        {"host": "gpu005"}, {"host": "gpu001", "settled": "pass", "settled_before": "pass"},
        {"host": "gpu001", "settled_before": "fail"}, {"host": "gpu001", "item": "cpu-governor", "subject": ""},
        {"host": "gpu001", "at": NOON - timedelta(days=2)},
    ],
    ids=["no node of the run", "not settled", "failed before", "a warning", "long ago"],
)  # fmt: skip
def test_what_does_not_fail_a_run_opens_nothing(cluster: Cluster, run: Run, told: dict[str, Any]) -> None:
    fails(cluster, **told)

    assert open_for_flips(now=NOON) == 0


@pytest.mark.parametrize(("stage", "opened"), [("signoff", 0), ("cleared", 1), ("running", 1), ("finished", 0)])
def test_only_a_cleared_or_running_run_is_harmed(cluster: Cluster, run: Run, stage: str, opened: int) -> None:
    Run.objects.update(stage=stage)
    fails(cluster, "gpu001")

    assert open_for_flips(now=NOON) == opened


def test_everything_that_fails_on_one_node_is_one_incident(cluster: Cluster, run: Run) -> None:
    fails(cluster, "gpu001")
    fails(cluster, "gpu001", "gpu-ecc")
    open_for_flips(now=NOON)
    fails(cluster, "gpu001", "gpu-nvlink-links", at=NOON + MINUTE)
    fails(cluster, "gpu002", at=NOON + MINUTE)
    open_for_flips(now=NOON + 2 * MINUTE)

    first, second = Incident.objects.order_by("id")
    assert sorted(first.links.values_list("item", flat=True)) == ["gpu-ecc", "gpu-nvlink-links", "gpu-pcie-width"]
    assert [one.hostname for one in second.touched.all()] == ["gpu002"]


def test_a_fleet_that_fails_at_once_is_one_incident_of_the_check(cluster: Cluster, run: Run) -> None:
    fails(cluster, "gpu001")
    open_for_flips(now=NOON)  # before the breaker tripped
    for host in ("gpu002", "gpu003", "gpu004"):
        fails(cluster, host, at=NOON + MINUTE)
    trip = BreakerTrip.objects.create(
        cluster=cluster, item="gpu-pcie-width", tripped_at=NOON + MINUTE, last_flip_at=NOON + MINUTE, nodes=4,
        of_nodes=6,
    )  # fmt: skip
    for minutes in (2, 3):
        open_for_flips(now=NOON + minutes * MINUTE)

    whole = Incident.objects.get(source="breaker")
    assert sorted(whole.touched.values_list("hostname", flat=True)) == ["gpu001", "gpu002", "gpu003", "gpu004"]
    assert Incident.objects.get(source="flip").merged_into == whole
    assert whole.links.get().relation == "related"
    assert trip.item in whole.error_class


def test_a_failure_that_came_late_to_a_breaker_joins_its_incident(cluster: Cluster, run: Run) -> None:
    BreakerTrip.objects.create(
        cluster=cluster, item="gpu-pcie-width", tripped_at=NOON, last_flip_at=NOON, nodes=4, of_nodes=6
    )
    fails(cluster, "gpu001", at=NOON)
    open_for_flips(now=NOON + MINUTE)
    fails(cluster, "gpu002", at=NOON + 2 * MINUTE)
    open_for_flips(now=NOON + 3 * MINUTE)

    assert sorted(Incident.objects.get().touched.values_list("hostname", flat=True)) == ["gpu001", "gpu002"]


def test_the_same_failure_of_the_same_part_opens_its_incident_again(cluster: Cluster, run: Run) -> None:
    fails(cluster, "gpu001")
    open_for_flips(now=NOON)
    Incident.objects.update(standing="closed", stable_at=NOON, closed_at=NOON)
    later = NOON + timedelta(days=10)
    fails(cluster, "gpu001", at=later - MINUTE)

    assert open_for_flips(now=later) == 0
    assert Incident.objects.get().occurrences == 2
    assert IncidentEvent.objects.filter(kind="reopened").count() == 1


def test_what_was_read_then_is_kept_as_long_as_the_incident_names_it(cluster: Cluster, run: Run) -> None:
    Evidence.objects.create(digest="ab" * 32, probe="pcie", text="8x", stored_at=NOON - timedelta(days=9))
    state = bad_row(Node.objects.get(hostname="gpu001"), "gpu-pcie-width", subject="gpu3", evidence="ab" * 32)
    fails(cluster, "gpu001")
    open_for_flips(now=NOON)
    NodeItemState.objects.filter(item=state.item).update(evidence="")

    assert purge_evidence(now=NOON) == 0
    assert Incident.objects.get().links.get().evidence == "ab" * 32


@pytest.mark.parametrize(
    ("columns", "part"),
    [
        ({"detail": "width \x1b[31m8"}, "gpu3"), ({"detail": "16 \u202esdeen"}, "gpu3"), ({"detail": "8\n16"}, "gpu3"),
        ({"subject": "gpu\u200b0"}, "gpu0"), ({"subject": "g" * 128}, ""),
    ],
    ids=["a control", "a turn", "two lines", "an unseen sign", "longer than any part"],
)  # fmt: skip
def test_nothing_that_an_agent_writes_keeps_its_failure_from_being_told(
    cluster: Cluster, run: Run, columns: dict[str, Any], part: str
) -> None:
    fails(cluster, "gpu001", **columns)

    assert open_for_flips(now=NOON) == 1
    assert [(one.hostname, one.part) for one in Incident.objects.get().touched.all()] == [("gpu001", part)]


def test_of_more_parts_than_an_incident_lists_it_lists_the_machines(cluster: Cluster, run: Run) -> None:
    trips(cluster, at=NOON)
    for host in ("gpu001", "gpu002", "gpu003"):
        first = fails(cluster, host, at=NOON, subject="nic0")
        Flip.objects.bulk_create([Flip(**columns_of(first) | {"subject": f"nic{place}"}) for place in range(1, 340)])

    assert open_for_flips(now=NOON + MINUTE) == 1
    incident = Incident.objects.get()
    assert list(incident.touched.values_list("hostname", "part")) == [("gpu001", ""), ("gpu002", ""), ("gpu003", "")]
    assert "1,020 parts" in incident.events.get(kind="opened").text


def test_one_incident_that_is_refused_keeps_no_other_of_its_cluster_from_being_opened(
    cluster: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses(monkeypatch, "gpu001")
    fails(cluster, "gpu001")
    fails(cluster, "gpu002")

    assert open_for_flips(now=NOON) == 1
    assert Incident.objects.get().touched.get().hostname == "gpu002"


def test_a_cluster_that_cannot_be_looked_at_keeps_no_other_from_it(cluster: Cluster, run: Run) -> None:
    other = lab("other")
    healthy_node(other, "gpu101")
    healthy_node(other, "gpu102")
    a_run(other, "gpu[101-102]", slug="run-8")
    Run.objects.update(stage=Stage.RUNNING)
    fails(cluster, "gpu001")
    fails(other, "gpu101")
    Cluster.objects.filter(pk=cluster.pk).update(profile="no-such-hardware")

    assert open_for_flips(now=NOON) == 1
    assert Incident.objects.get().cluster == other


def test_a_failure_after_the_breaker_has_ended_is_an_incident_of_its_node(cluster: Cluster, run: Run) -> None:
    trips(cluster, at=NOON - 60 * MINUTE, ended=NOON - 30 * MINUTE)
    fails(cluster, "gpu001", at=NOON - 60 * MINUTE)
    open_for_flips(now=NOON - 55 * MINUTE)
    fails(cluster, "gpu002", at=NOON - MINUTE)
    for minutes in (0, 1):
        open_for_flips(now=NOON + minutes * MINUTE)

    single = Incident.objects.get(source="flip")
    assert (single.standing, single.touched.get().hostname) == ("open", "gpu002")


def test_of_two_breakers_of_one_item_each_takes_in_its_own(cluster: Cluster, run: Run) -> None:
    trips(cluster, at=NOON - 60 * MINUTE, ended=NOON - 30 * MINUTE)
    fails(cluster, "gpu001", at=NOON - 60 * MINUTE)
    open_for_flips(now=NOON - 55 * MINUTE)
    fails(cluster, "gpu002", at=NOON)
    open_for_flips(now=NOON)  # before the second breaker tripped
    newer = trips(cluster, at=NOON + MINUTE)
    fails(cluster, "gpu003", at=NOON + MINUTE)
    for minutes in (2, 3):
        open_for_flips(now=NOON + minutes * MINUTE)

    whole = Incident.objects.get(source="breaker", error_class__endswith=f" {newer.pk}")
    assert Incident.objects.get(source="flip").merged_into == whole


def test_what_comes_late_to_a_breaker_goes_where_its_incident_was_merged_to(cluster: Cluster, run: Run) -> None:
    trips(cluster, at=NOON)
    fails(cluster, "gpu001", at=NOON)
    open_for_flips(now=NOON + MINUTE)
    into = opened(cluster, error_class="", touched=()).incident
    Incident.objects.filter(source="breaker").update(standing="merged", merged_into=into)
    fails(cluster, "gpu002", at=NOON + 2 * MINUTE)

    assert open_for_flips(now=NOON + 3 * MINUTE) == 0
    assert [one.hostname for one in into.touched.all()] == ["gpu002"]


def test_a_failure_is_no_sign_of_a_breaker_that_somebody_called_stable(cluster: Cluster, run: Run) -> None:
    trips(cluster, at=NOON)
    fails(cluster, "gpu001", at=NOON)
    open_for_flips(now=NOON + MINUTE)
    Incident.objects.update(standing="stable", stable_at=NOON + 5 * MINUTE)
    fails(cluster, "gpu002", at=NOON + 4 * MINUTE)
    open_for_flips(now=NOON + 6 * MINUTE)

    incident = Incident.objects.get()
    assert (incident.standing, incident.stable_at, incident.occurrences) == ("open", None, 1)
    assert incident.events.filter(kind="reopened").count() == 1
