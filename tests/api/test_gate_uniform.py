"""What must be the same on all nodes: the gate compares the asked ones, and names the odd ones out."""

import pytest
from django.test import Client

from checks.models import Node
from tests.api.gate_lab import Gate, codes
from tests.lab import firmware, healthy_node, lab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]


def test_the_odd_firmware_out_is_named_and_the_majority_is_not(client: Client) -> None:
    cluster = lab()
    for number in (1, 2, 3):
        firmware(healthy_node(cluster, f"gpu00{number}"), "96.00.89.00.01" if number < 3 else "96.00.74.00.01")

    body = Gate(client, cluster).ask()

    assert (body["decision"], body["nodes"]["not_ready_nodes"], codes(body)) == ("not_ready", "gpu003", ["not_uniform"])
    assert "96.00.74.00.01" in body["reasons"][0]["value"]
    assert "96.00.89.00.01" in body["reasons"][0]["threshold"]


def test_only_the_asked_nodes_are_compared(client: Client) -> None:
    cluster = lab()
    for number in (1, 2, 3):
        firmware(healthy_node(cluster, f"gpu00{number}"), "96.00.89.00.01" if number < 3 else "96.00.74.00.01")

    assert Gate(client, cluster).ask(nodes="gpu[001-002]")["decision"] == "ready"


def test_without_a_majority_all_are_named_because_nobody_knows_who_is_right(client: Client) -> None:
    cluster = lab()
    firmware(healthy_node(cluster, "gpu001"), "96.00.89.00.01")
    firmware(healthy_node(cluster, "gpu002"), "96.00.74.00.01")

    assert Gate(client, cluster).ask()["nodes"]["not_ready_nodes"] == "gpu[001-002]"


def test_two_part_numbers_are_not_compared_with_each_other(client: Client) -> None:
    cluster = lab()
    firmware(healthy_node(cluster, "gpu001"), "96.00.89.00.01")
    firmware(healthy_node(cluster, "gpu002"), "92.00.45.00.03", part="692-2G503-0203-000")

    assert Gate(client, cluster).ask()["decision"] == "ready"


def test_a_node_of_a_profile_without_rules_is_unknown_whatever_its_firmware(client: Client) -> None:
    cluster = lab()
    for number in (1, 2):
        firmware(healthy_node(cluster, f"gpu00{number}"), f"96.00.89.00.0{number}")
    Node.objects.update(profile="8xh100")

    body = Gate(client, cluster).ask()

    assert (body["decision"], set(codes(body))) == ("unknown", {"rejudging"})
