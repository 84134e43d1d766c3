"""What the gate says waiting costs: blocked GPUs times the price of the cluster's GPU hour, in no statement more."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checks.models import Cluster
from checks.services.costs import price_cluster
from tests.api.gate_lab import Gate
from tests.api.run_lab import NARROW, RunGate
from tests.lab import MINUTE, NOON, bad_row, healthy_node, lab
from tests.signed import a_signable_run, tick

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]


def priced(cluster: Cluster) -> None:
    price_cluster(cluster=cluster, amount=Decimal("6.88"), reason="contract 17", by=None, now=NOON)


def one_of_two_fails(cluster: Cluster) -> None:
    healthy_node(cluster, "gpu001")
    bad_row(healthy_node(cluster, "gpu002"), "gpu-ecc", subject="gpu4")


def test_eight_blocked_gpus_cost_eight_times_the_price_with_its_source(client: Client) -> None:
    cluster = lab()
    one_of_two_fails(cluster)
    priced(cluster)

    assert Gate(client, cluster).ask()["cost_of_waiting"] == {
        "gpus": 8, "usd_per_hour": "55.04", "usd_per_gpu_hour": "6.88", "price_source": "contract 17",
        "priced_at": "2026-11-30T12:00:00+00:00",
    }  # fmt: skip


def test_without_a_price_there_are_gpus_and_no_number_of_dollars(client: Client) -> None:
    cluster = lab()
    one_of_two_fails(cluster)

    cost = Gate(client, cluster).ask()["cost_of_waiting"]
    assert (cost["gpus"], cost["usd_per_hour"], cost["usd_per_gpu_hour"]) == (8, None, None)


def test_where_all_nodes_are_ready_nothing_waits(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, "gpu001")
    priced(cluster)

    assert Gate(client, cluster).ask()["cost_of_waiting"] is None


def test_a_price_costs_the_answer_no_statement(client: Client) -> None:
    cluster = lab()
    one_of_two_fails(cluster)
    gate = Gate(client, cluster)
    gate.ask()
    with CaptureQueriesContext(connection) as without:
        gate.ask()
    priced(cluster)
    with CaptureQueriesContext(connection) as with_price:
        gate.ask()

    assert len(with_price) == len(without)


def test_another_price_is_another_answer_to_who_holds_the_old_tag(client: Client) -> None:
    cluster = lab()
    one_of_two_fails(cluster)
    gate = Gate(client, cluster)
    tag = gate.get()["ETag"]
    assert gate.get(etag=tag).status_code == 304
    priced(cluster)

    assert gate.get(etag=tag).status_code == 200


def test_a_run_that_may_not_start_lets_all_that_it_needs_wait(client: Client) -> None:
    signing = a_signable_run()
    priced(signing.run.cluster)

    cost = RunGate(client, signing).at()["cost_of_waiting"]
    assert (cost["gpus"], cost["usd_per_hour"]) == (16, "110.08")


def test_of_a_run_whose_nodes_are_named_those_wait(client: Client) -> None:
    signing = a_signable_run()
    priced(signing.run.cluster)
    signing.sign_all()
    tick(signing.fleet, "gpu002", at=NOON + MINUTE, changed=NARROW)

    assert RunGate(client, signing).at(NOON + MINUTE, nodes="gpu002")["cost_of_waiting"]["gpus"] == 8


def test_a_shell_reads_the_sum_on_a_line_of_its_own(client: Client) -> None:
    cluster = lab()
    one_of_two_fails(cluster)
    priced(cluster)
    gate = Gate(client, cluster)
    answer: Any = client.get(f"/gate/{cluster.slug}", headers=gate.headers)

    lines = answer.content.decode().splitlines()
    assert lines[0] == "not_ready"
    assert "waiting costs 55.04 USD an hour (8 GPUs)" in lines
