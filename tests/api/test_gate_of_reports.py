"""From an agent's reports to the gate's answer: the summaries that ingest writes are the ones that the gate reads."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from checks.models import Cluster, RecheckRequest, TokenKind
from checks.services.rechecks import request_recheck
from tests.factories import Machine, enrolled_machine, healthy_facts, make_cluster
from tests.lab import bearer

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A cluster of 8 x H200 without nodes."""
    return make_cluster()


def healthy_machine(cluster: Cluster, hostname: str = "gpu001") -> Machine:
    """A machine that has sent a full daily report and two full ticks: what counters gained needs two."""
    machine = enrolled_machine(cluster, hostname)
    machine.push(cadence="daily")
    for _ in range(2):
        machine.sleep()
        machine.push()
    return machine


def ask(client: Client, machine: Machine, *, after: timedelta = timedelta()) -> Any:
    """The gate's answer about the machine's cluster, *after* its last report."""
    with time_machine.travel(machine.now + after, tick=False):
        address = f"/api/v1/clusters/{machine.cluster.slug}/readiness"
        return client.get(address, headers=bearer(TokenKind.GATE, machine.cluster)).json()


def test_a_machine_that_only_enrolled_is_unknown(client: Client, cluster: Cluster) -> None:
    assert ask(client, enrolled_machine(cluster))["decision"] == "unknown"


def test_full_reports_of_a_healthy_machine_make_it_ready(client: Client, cluster: Cluster) -> None:
    body = ask(client, healthy_machine(cluster))

    assert (body["decision"], body["reasons"]) == ("ready", [])


def test_the_first_report_of_a_fault_stops_the_gate_at_once(client: Client, cluster: Cluster) -> None:
    machine = healthy_machine(cluster)
    machine.sleep()
    facts = healthy_facts()
    facts["gpu-ecc"]["gpu3"]["volatile_uncorrectable"] = (1, "count")
    machine.push(facts=facts)

    body = ask(client, machine)

    assert body["decision"] == "not_ready"
    (reason,) = [reason for reason in body["reasons"] if reason["item"] == "gpu-ecc"]
    assert (reason["node"], reason["subject"], reason["verdict"]) == ("gpu001", "gpu3", "fail")
    assert (reason["value"], reason["threshold"]) == (1, 0)


def test_a_tool_that_hung_is_unknown_and_never_ready(client: Client, cluster: Cluster) -> None:
    machine = healthy_machine(cluster)
    machine.sleep()
    facts = healthy_facts()
    del facts["clock-sync"]
    covered = [*facts, "clock-sync"]
    machine.push(facts=facts, covered=covered, problems=[("clock-sync", None, "hung", "chronyc did not answer in 5 s")])

    body = ask(client, machine)

    assert (body["decision"], [reason["code"] for reason in body["reasons"]]) == ("unknown", ["hung"])


def test_silence_of_three_intervals_ends_ready(client: Client, cluster: Cluster) -> None:
    machine = healthy_machine(cluster)

    assert ask(client, machine, after=timedelta(minutes=15))["decision"] == "ready"
    assert ask(client, machine, after=timedelta(minutes=15, seconds=1))["decision"] == "unknown"


def test_a_mended_machine_is_ready_again_with_its_next_report(client: Client, cluster: Cluster) -> None:
    machine = healthy_machine(cluster)
    machine.sleep()
    facts = healthy_facts()
    facts["sysctl-somaxconn"][""]["live"] = (4096, "count")
    machine.push(facts=facts)
    assert ask(client, machine)["decision"] == "not_ready"

    machine.sleep()
    machine.push()

    assert ask(client, machine)["decision"] == "ready"


def test_the_gpu_whose_firmware_differs_from_its_like_is_named(client: Client, cluster: Cluster) -> None:
    machine = healthy_machine(cluster)
    machine.sleep()
    facts = healthy_facts(cadence="daily")
    facts["gpu-firmware"]["gpu5"]["vbios"] = ("96.00.74.00.01", "text")
    machine.push(facts=facts, cadence="daily")

    body = ask(client, machine)

    assert body["decision"] == "not_ready"
    assert [(reason["code"], reason["subject"]) for reason in body["reasons"]] == [("not_uniform", "gpu5")]


def test_a_recheck_asked_for_is_over_once_a_report_measured_it_again(cluster: Cluster) -> None:
    machine = healthy_machine(cluster)
    machine.sleep()
    request_recheck(node=machine.node, items=["gpu-ecc"], requested_by=None, now=machine.now)
    machine.sleep(timedelta(minutes=1))
    facts = {"gpu-ecc": healthy_facts()["gpu-ecc"]}

    machine.push(facts=facts, cadence="check")

    assert RecheckRequest.objects.get().done_at == machine.now
