"""Nodes with one fingerprint are not compared row by row; that must never hide a difference."""

import random
from datetime import timedelta
from typing import Any

import pytest

from checks.domain.verdicts import Purpose
from checks.models import Cluster, Node, NodeItemState, NodeReadiness
from checks.selectors.gate_rows import odd_of, read_rows, rules_of
from checks.selectors.rules import ruleset_for
from checks.services.rejudge import rejudge_node
from tests.lab import NOON, SECOND, firmware, healthy_node, lab
from tests.selectors.test_readiness import context_of

pytestmark = pytest.mark.django_db

WORLDS = 60
OLD, NEW = "96.00.74.00.01", "96.00.89.00.01"


def differences(cluster: Cluster) -> list[tuple[str, str, Any]]:
    """Who differs, as the gate sees it."""
    context = context_of(cluster)
    rules = rules_of(context)
    rows = read_rows(context, None, purpose=Purpose.HEALTH, rules=rules, now=NOON)
    return sorted((why.node, why.subject, why.value) for why in odd_of(rows.compared or (), rules))


def is_compared_row_by_row(cluster: Cluster) -> bool:
    """Whether rows were read that differ in anything."""
    context = context_of(cluster)
    rows = read_rows(context, None, purpose=Purpose.HEALTH, rules=rules_of(context), now=NOON)
    return rows.compared is not None


def fingerprints(cluster: Cluster) -> set[str]:
    """Those of the cluster's nodes, once judged as a changed rule has them judged."""
    for node in Node.objects.filter(cluster=cluster):
        rejudge_node(node_id=node.pk, now=NOON)
    return set(NodeReadiness.objects.filter(cluster=cluster).values_list("uniform", flat=True))


def random_world(chance: random.Random) -> Cluster:
    """Three nodes of two GPUs; mostly alike, with everything that can differ differing now and then."""
    cluster = lab()
    rare = chance.choice([0.0, 0.1, 0.4])
    for number in range(3):
        node = healthy_node(cluster, f"gpu{number}")
        for gpu in range(2):
            part = "P2" if chance.random() < rare else "P1"
            facts: dict[str, Any] = {
                "vbios": NEW if chance.random() < rare else OLD, "inforom": "G520", "part_number": part,
            }  # fmt: skip
            if chance.random() < rare / 2:
                del facts[chance.choice(sorted(facts))]
            store(node, facts, subject=f"gpu{gpu}", raw="pass", reason="", blocks=0)
        NodeReadiness.objects.filter(node=node).update(
            daily_until=NOON - SECOND if chance.random() < rare else NOON + timedelta(hours=1)
        )
    return cluster


def store(node: Node, facts: dict[str, Any], *, subject: str, **columns: Any) -> None:
    """One GPU's row with what was measured of its firmware."""
    item = ruleset_for(node.cluster, node).items["gpu-firmware"]
    NodeItemState.objects.create(
        node=node, item=item.key, subject=subject, layer=item.layer, scope=item.scope, cadence=item.cadence,
        severity=item.severity, since=NOON, observed_at=NOON, item_version=item.version,
        value={"facts": facts, "item_version": item.version}, **columns,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(WORLDS))
def test_fingerprints_hide_no_difference(seed: int) -> None:
    cluster = random_world(random.Random(seed))
    fingerprints(cluster)

    seen = differences(cluster)
    NodeReadiness.objects.update(uniform="")

    assert seen == differences(cluster)


def test_nodes_that_are_alike_are_not_compared_row_by_row() -> None:
    cluster = lab()
    for number in range(3):
        firmware(healthy_node(cluster, f"gpu{number}"), OLD, gpus=2)

    assert len(fingerprints(cluster) - {""}) == 1
    NodeItemState.objects.filter(node__hostname="gpu1", item="gpu-firmware").update(value={"facts": {"vbios": NEW}})
    assert not is_compared_row_by_row(cluster)


def test_a_node_whose_fact_changes_gets_another_fingerprint_when_it_is_judged() -> None:
    cluster = lab()
    for number in range(3):
        firmware(healthy_node(cluster, f"gpu{number}"), OLD)
    before = fingerprints(cluster)
    row = NodeItemState.objects.get(node__hostname="gpu1", item="gpu-firmware", subject="gpu0")
    row.value["facts"]["vbios"] = NEW
    row.save(update_fields=["value"])

    assert len(fingerprints(cluster) - before) == 1
    assert [node for node, _, _ in differences(cluster)] == ["gpu1"]


def test_a_node_that_differs_within_itself_is_looked_at_closely() -> None:
    cluster = lab()
    node = healthy_node(cluster, "gpu0")
    for gpu, vbios in (("gpu0", OLD), ("gpu1", NEW)):
        facts = {"vbios": vbios, "inforom": "G520", "part_number": "P1"}
        store(node, facts, subject=gpu, raw="pass", reason="", blocks=0)

    assert fingerprints(cluster) == {""}
    assert differences(cluster)


def test_a_summary_from_before_there_were_fingerprints_is_compared() -> None:
    cluster = lab()
    for number in range(2):
        firmware(healthy_node(cluster, f"gpu{number}"), (OLD, NEW)[number])

    assert set(NodeReadiness.objects.values_list("uniform", flat=True)) == {""}
    assert [node for node, _, _ in differences(cluster)] == ["gpu0", "gpu1"]


def test_a_node_of_which_nothing_was_measured_does_not_make_the_others_look_different() -> None:
    cluster = lab()
    for number in range(2):
        firmware(healthy_node(cluster, f"gpu{number}"), OLD)
    healthy_node(cluster, "gpu9")

    assert "none" in fingerprints(cluster)
    assert not is_compared_row_by_row(cluster)
