"""``manage.py fleet simulate`` against a real server over real connections, small."""

import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django.live_server_helper import LiveServer

from checks.management.simulation import agents
from checks.models import Cluster, Node, NodeReadiness, Report
from checks.services import reports
from tests.factories import SHIPPED, put_catalogue_in_force


def simulate(server: LiveServer, *arguments: str) -> str:
    said = StringIO()
    call_command("fleet", "simulate", "--portal", server.url, "--jitter", "1", *arguments, stdout=said)
    return said.getvalue()


@pytest.fixture
def portal(live_server: LiveServer) -> LiveServer:
    """A portal that judges by the shipped checklist."""
    put_catalogue_in_force(SHIPPED)
    return live_server


def test_every_report_arrives_once_and_the_gate_is_right(portal: LiveServer) -> None:
    said = simulate(portal, "--agents", "6", "--faults", "0.5", "--skew", "3600")

    assert "18 reports: 0 lost, 0 doubled" in said
    assert re.search(r"gate questions: 0 wrong answers, 0 not answered", said)
    assert Report.objects.count() == 18
    assert NodeReadiness.objects.filter(health_bad=0).count() == 3


def test_known_nodes_have_measured_once_before_the_first_round(portal: LiveServer) -> None:
    said = simulate(portal, "--agents", "3", "--rounds", "1", "--known")

    assert "9 reports: 0 lost, 0 doubled" in said  # a daily one, a first tick, the round


def test_faulty_nodes_are_half_failing_and_half_hanging(portal: LiveServer) -> None:
    simulate(portal, "--agents", "4", "--rounds", "1", "--faults", "1")

    bad = Node.objects.filter(states__blocks=2).values_list("states__item", "states__raw")
    assert sorted(bad) == [("hung-io", "unknown")] * 2 + [("sysctl-somaxconn", "fail")] * 2


def test_churn_replaces_nodes_with_new_ones(portal: LiveServer) -> None:
    said = simulate(portal, "--agents", "4", "--churn", "0.5")

    assert Node.objects.count() == 6
    assert "14 reports: 0 lost, 0 doubled" in said  # 6 daily, two rounds of 4


def test_the_cluster_is_closed_afterwards_unless_it_is_to_be_looked_at(portal: LiveServer) -> None:
    simulate(portal, "--agents", "1", "--rounds", "1")
    simulate(portal, "--agents", "1", "--rounds", "1", "--keep")

    assert [cluster.closed_at is None for cluster in Cluster.objects.order_by("slug")] == [False, True]


def test_a_portal_that_forgets_what_it_accepted_is_found_out(
    portal: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_store", lambda *_: True)  # answers, and writes nothing down

    with pytest.raises(CommandError, match="lost or doubled"):
        simulate(portal, "--agents", "2", "--rounds", "1")


def test_a_portal_that_calls_every_node_ready_is_found_out(portal: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        agents.TROUBLES, agents.Fault.FAILS, agents.NO_TROUBLE
    )  # a fault that the portal never hears of
    monkeypatch.setitem(agents.TROUBLES, agents.Fault.HANGS, agents.NO_TROUBLE)

    with pytest.raises(CommandError, match="the gate was wrong"):
        simulate(portal, "--agents", "2", "--rounds", "1", "--faults", "1")


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("http://192.0.2.7:8000", "another machine"),
        ("https://127.0.0.1:8000", "no http:// address"),
        ("127.0.0.1:8000", "no http:// address"),
        ("http://no-such-host.invalid", "stands for no machine"),
    ],
)
@pytest.mark.django_db
def test_only_a_portal_on_this_machine_is_loaded(address: str, sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("fleet", "simulate", "--portal", address)

    assert not Cluster.objects.exists()


@pytest.mark.parametrize(
    "arguments", [("--agents", "4097"), ("--rounds", "0"), ("--jitter", "301"), ("--churn", "2"), ("--skew", "-5")]
)
def test_a_simulation_is_bounded(arguments: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match=arguments[0]):
        call_command("fleet", "simulate", *arguments)
