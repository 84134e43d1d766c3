"""Ways in which a readiness gate could say *ready* without knowing. It does not, in any of them."""

import copy
from typing import Any

import pytest

from tests.journeys.sound import PROFILE, Sound, facts_of_a_tuned_node
from tests.journeys.user import ClusterOfMine, NodeByHand, Portal, wait_for


@pytest.fixture(scope="module")
def sound_facts() -> list[dict[str, Any]]:
    """Facts of a tuned node."""
    return facts_of_a_tuned_node()


@pytest.fixture(scope="module")
def clusters(portal: Portal) -> dict[str, ClusterOfMine]:
    """One cluster with the usual five minutes, one whose evidence ages within seconds."""
    return {
        "slow": portal.cluster("truth", profile=PROFILE),
        "fast": portal.cluster("hasty", profile=PROFILE, interval="5"),
        "bare": portal.cluster("bare", profile="no-gpu"),
    }


def test_a_node_that_never_reported_is_unknown(clusters: dict[str, ClusterOfMine]) -> None:
    clusters["slow"].enrol("silent")

    answer = clusters["slow"].gate(nodes="silent")
    assert (answer["decision"], answer["ready"]) == ("unknown", False)


def test_a_node_nobody_enrolled_is_listed_and_unknown(clusters: dict[str, ClusterOfMine]) -> None:
    answer = clusters["slow"].gate(nodes="gpu[001-003]")

    assert answer["decision"] == "unknown"
    assert answer["nodes"]["unknown_nodes"] == "gpu[001-003]"


def test_one_item_that_was_never_measured_keeps_the_node_from_ready(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["slow"], "one-missing", sound_facts)
    node.push("daily", node.daily)
    node.push("tick", [item for item in node.tick if item != "gpu-ecc"])

    assert node.decision == "unknown"
    assert {reason["verdict"] for reason in node.reasons_of("gpu-ecc")} == {"unknown"}


def test_checking_single_items_keeps_no_other_item_alive(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["fast"], "one-at-a-time", sound_facts).become_ready()

    def keeps_checking_one_item() -> bool:
        node.push("check", ["sysctl-somaxconn"])
        return node.decision != "ready"

    wait_for("the other items go stale", keeps_checking_one_item, seconds=25)
    assert node.decision == "unknown"


def test_evidence_goes_stale_by_the_clock_alone_and_the_etag_with_it(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["fast"], "goes-silent", sound_facts).become_ready()
    fresh = node.cluster.ask_gate(nodes="goes-silent")
    etag = fresh.headers["etag"]
    assert int(fresh.headers["gate-ttl"]) <= 15
    assert node.cluster.ask_gate(etag=etag, nodes="goes-silent").status == 304

    wait_for(
        "a 200 for the old tag", lambda: node.cluster.ask_gate(etag=etag, nodes="goes-silent").status == 200, seconds=25
    )
    stale = node.cluster.ask_gate(nodes="goes-silent")
    assert stale.json["decision"] == "unknown"
    assert stale.headers["etag"] != etag


def test_a_probe_that_was_dropped_from_the_agent_is_noticed(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["slow"], "dropped-probe", sound_facts).become_ready()

    node.push("tick", [item for item in node.tick if item != "sysctl-somaxconn"])

    assert node.decision == "unknown"
    assert [reason["code"] for reason in node.reasons_of("sysctl-somaxconn")] == ["not_reported"]


def test_an_item_tried_without_a_fact_is_unknown(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["slow"], "no-fact", sound_facts).become_ready()
    node.facts = [fact for fact in sound_facts if fact["item"] != "gpu-pcie-width"]

    node.push("tick", node.tick)

    assert node.decision == "unknown"
    assert {reason["subject"] for reason in node.reasons_of("gpu-pcie-width")} == {"gpu0", "gpu1"}


def test_a_gpu_that_disappears_from_the_report_is_unknown(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["slow"], "lost-gpu", sound_facts).become_ready()
    node.facts = [fact for fact in sound_facts if fact["subject"] != "gpu1"]

    node.push("tick", node.tick)

    assert node.decision != "ready"
    assert {reason["subject"] for reason in node.reasons_of("gpu-ecc")} == {"gpu1"}


def test_rules_that_change_meanwhile_make_an_old_report_count_for_less(
    portal: Portal, clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    mine = portal.cluster("changing", profile="virtual")
    node = Sound(mine, "planned-before", sound_facts)
    planned = list(node.tick)
    portal.manage("cluster", "set", "changing", "--profile", PROFILE)

    node.push("tick", planned)  # the agent had asked for the plan before it changed
    node.push("daily", node.daily)

    assert node.decision == "unknown"
    assert node.reasons_of("gpu-ecc")


def test_a_machine_to_which_nothing_of_a_layer_applies_has_proved_nothing(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["bare"], "no-gpus-here", sound_facts)
    node.push("tick", node.tick)

    answer = node.answer
    assert answer["decision"] == "unknown"
    assert "nothing_proved" in {reason["code"] for reason in answer["reasons"]}


def test_a_start_without_a_run_is_never_ready(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["slow"], "wants-to-start", sound_facts).become_ready()

    answer = node.cluster.gate(nodes=node.node.hostname, purpose="start")
    assert answer["decision"] == "unknown"
    assert "run_required" in {reason["code"] for reason in answer["reasons"]}


def test_a_report_that_was_tampered_with_is_refused_whole(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    node = Sound(clusters["slow"], "tampered", sound_facts).become_ready()
    report = node.node.report(sound_facts, covered=node.tick)
    report["ready"] = True

    answer = node.node.push(report)
    assert answer.status == 422
    assert "ready" in answer.json["detail"]


def test_a_token_of_another_node_speaks_for_nobody_else(
    clusters: dict[str, ClusterOfMine], sound_facts: list[dict[str, Any]]
) -> None:
    victim = Sound(clusters["slow"], "victim", sound_facts).become_ready()
    thief = clusters["slow"].enrol("thief")
    stolen = NodeByHand(victim.cluster, "victim", thief.token, victim.node.boot_id)
    facts = copy.deepcopy(sound_facts)

    answer = stolen.push(stolen.report(facts, covered=victim.tick))
    assert (answer.status, answer.json["code"]) == (403, "wrong_node")
