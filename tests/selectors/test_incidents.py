"""Figures of incidents against a count by hand; lemons by serial; actions that a probe proves."""

from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from random import Random

import pytest

from checks.domain.incidents.kinds import ActionKind, ActionState, Component, Relation
from checks.models import Cluster, CorrectiveAction, Incident, Node, NodeItemState, Role
from checks.selectors.incident_figures import blind_spots, figures_of, learned_about
from checks.selectors.incident_lemons import lemon_machines, lemon_parts
from checks.services.incident_actions import Plan, move_action, propose_action, verify_by_probes
from checks.services.incident_links import Linking
from checks.services.incident_records import Author, Touched
from tests.incidents import opened
from tests.lab import HOUR, MINUTE, NOON, bad_row, healthy_node, lab
from tests.people import person

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def cluster() -> Cluster:
    made = lab()
    for number in range(1, 9):
        node = healthy_node(made, f"gpu00{number}")
        Node.objects.filter(pk=node.pk).update(
            enrolled_at=NOON - 100 * DAY, serials={"system": f"SRV-{number}", "gpu3": f"GPU-{number}3"}
        )
    return made


def nearest(seconds: list[float], share: float) -> float:
    return sorted(seconds)[ceil(share * len(seconds)) - 1]


def test_spans_are_the_middle_one_and_the_one_that_nine_of_ten_do_not_exceed(cluster: Cluster) -> None:
    random = Random(7)
    spans = [(random.randint(0, 9_000), random.randint(60, 90_000)) for _ in range(23)]
    for found, ended in spans:
        began = NOON - 3 * DAY
        incident = opened(
            cluster, error_class="", started_at=began, detected_at=began + timedelta(seconds=found)
        ).incident
        Incident.objects.filter(pk=incident.pk).update(
            stable_at=incident.detected_at + timedelta(seconds=ended), standing="stable"
        )
    figures = figures_of([cluster.pk], now=NOON)

    assert (figures.incidents, figures.open, figures.recurred) == (23, 0, 0)
    for share, median in ((0.5, True), (0.9, False)):
        for place, span in ((0, figures.detect), (1, figures.stabilise)):
            assert (span.median_s if median else span.p90_s) == nearest([one[place] for one in spans], share)
    assert (figures.close.median_s, figures.lost_s, figures.usd) == (None, None, None)


def test_a_sum_takes_each_incident_at_the_price_of_its_day(cluster: Cluster) -> None:
    for gpus, price in ((8, "2.00"), (16, "3.00"), (4, None)):
        incident = opened(
            cluster, error_class="", gpus_affected=gpus, started_at=NOON - HOUR, detected_at=NOON
        ).incident
        Incident.objects.filter(pk=incident.pk).update(usd_per_gpu_hour=price and Decimal(price))
    figures = figures_of([cluster.pk], now=NOON)

    assert (figures.lost_s, figures.usd) == (28 * 3600, Decimal(8 * 2 + 16 * 3))


def test_blind_spots_stand_by_what_they_cost_and_end_with_an_item(cluster: Cluster) -> None:
    seen = (Linking("gpu-xid", Relation.SHOULD_HAVE_CAUGHT),)
    cheap = opened(cluster, error_class="", gpus_affected=1, links=(Linking("gpu-ecc", Relation.RELATED),)).incident
    dear = opened(cluster, error_class="", gpus_affected=512).incident
    untold = opened(cluster, error_class="").incident
    opened(cluster, error_class="", gpus_affected=4096, links=seen)

    assert list(blind_spots([cluster.pk], now=NOON)) == [dear, cheap, untold]


def test_an_item_counts_what_it_caught_and_what_escaping_it_cost(cluster: Cluster) -> None:
    for relation, gpus in ((Relation.CAUGHT, 8), (Relation.SHOULD_HAVE_CAUGHT, 16), (Relation.RELATED, 32)):
        opened(cluster, error_class="", gpus_affected=gpus, links=(Linking("gpu-xid", relation),))
    learned = learned_about(cluster.pk, "gpu-xid", now=NOON)

    assert (learned.caught, learned.escaped, learned.false_alarms, learned.related) == (1, 1, 0, 1)
    assert learned.lost_s == 16 * 3 * 3600
    assert [one.relation for one in learned.incidents] == ["related", "should_have_caught", "caught"]


def test_a_machine_is_recognised_under_another_name_and_after_its_repair(cluster: Cluster) -> None:
    """SRV-1 had two incidents as gpu001, was taken out, and comes back as spare-9, where it has two more."""
    for _ in range(2):
        opened(cluster, error_class="", touched=(Touched("gpu001", "gpu3"),))
    Node.objects.filter(hostname="gpu001").update(retired_at=NOON - 30 * DAY)
    Node.objects.create(cluster=cluster, hostname="spare-9", serials={"system": "SRV-1", "gpu0": "GPU-13"},
                        enrolled_at=NOON - 10 * DAY)  # fmt: skip
    for _ in range(2):
        opened(cluster, error_class="", touched=(Touched("spare-9", "gpu0"),))
    opened(cluster, error_class="", touched=(Touched("gpu002"),), component=Component.OPERATOR_CHANGE)
    opened(cluster, error_class="", touched=(Touched("gpu003"),))

    first, second = lemon_machines([cluster.pk], now=NOON)
    (part,) = lemon_parts([cluster.pk], now=NOON)

    assert (first.suspect.record.serial, first.suspect.record.incidents, first.suspect.is_lemon) == ("SRV-1", 4, True)
    assert (first.hostnames, first.now_at) == (("gpu001", "spare-9"), ("spare-9",))
    assert first.suspect.record.days == pytest.approx(70 + 10)  # as gpu001, and as spare-9
    assert (second.suspect.record.serial, second.suspect.is_lemon) == ("SRV-3", False)
    assert (part.suspect.record.serial, part.suspect.record.incidents) == ("GPU-13", 4)


def done(cluster: Cluster, *, node: str = "") -> CorrectiveAction:
    """An action on the width of PCIe links, done ten minutes before noon."""
    hana = Author(person("hana", cluster, Role.HARDWARE))
    incident = opened(cluster, error_class="").incident
    on = Node.objects.get(hostname=node) if node else None
    plan = Plan(ActionKind.HARDWARE, "Reseat the card", item="gpu-pcie-width", node=on)
    action = propose_action(incident=incident, plan=plan, author=hana, now=NOON - HOUR)
    for to in (ActionState.ACCEPTED, ActionState.DONE):
        action = move_action(action=action, to=to, author=hana, now=NOON - 10 * MINUTE)
    return action


def row(node: str, raw: str, *, at: datetime = NOON - MINUTE, **changes: object) -> NodeItemState:
    made = bad_row(Node.objects.get(hostname=node), "gpu-pcie-width", subject="gpu3")
    columns = {"raw": raw, "blocks": 2 if raw == "fail" else 0, "observed_at": at} | changes
    NodeItemState.objects.filter(node__hostname=node, item="gpu-pcie-width").update(**columns)
    return made


def state(action: CorrectiveAction) -> tuple[str, str]:
    action.refresh_from_db()
    return action.state, action.proof


def test_a_probe_that_passes_after_the_deed_verifies_an_action(cluster: Cluster) -> None:
    action = done(cluster, node="gpu001")
    row("gpu001", "pass")
    row("gpu002", "fail")  # is not asked about

    assert [verify_by_probes(now=NOON) for _ in range(2)] == [1, 0]
    assert state(action) == ("verified", "gpu-pcie-width: 1 / 1 pass")
    assert action.verified_by is None


def test_nothing_is_verified_by_what_fails_on_one_node(cluster: Cluster) -> None:
    action = done(cluster)
    row("gpu001", "pass")
    row("gpu002", "fail")

    assert (verify_by_probes(now=NOON), state(action)[0]) == (0, "done")


def test_nothing_is_verified_by_nothing(cluster: Cluster) -> None:
    action = done(cluster, node="gpu001")

    assert (verify_by_probes(now=NOON), state(action)[0]) == (0, "done")


def test_nothing_is_verified_by_a_measurement_from_before_the_deed_or_a_stale_one(cluster: Cluster) -> None:
    action = done(cluster, node="gpu001")
    readiness = Node.objects.get(hostname="gpu001").readiness
    readiness.tick_at = readiness.tick_until = NOON - HOUR
    readiness.save()
    row("gpu001", "pass", at=NOON - 20 * MINUTE)
    assert verify_by_probes(now=NOON) == 0

    row_at = NOON - MINUTE  # newer than the deed, but long over when somebody looks
    NodeItemState.objects.filter(item="gpu-pcie-width").update(observed_at=row_at, valid_until=NOON)
    assert (verify_by_probes(now=NOON + DAY), state(action)[0]) == (0, "done")
