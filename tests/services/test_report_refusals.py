"""Reports that are not taken; none of them leaves anything behind."""

from datetime import timedelta

import pytest

from checks.domain.errors import CountersignError
from checks.models import Node, NodeItemState, Report, ReportReceipt, Token
from checks.services.tokens import revoke_token
from tests.factories import NOON, Machine, enrolled_machine, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster())


def refused(machine: Machine, **written: object) -> tuple[int, str]:
    """Status and code of the refusal, once it is sure that nothing was stored."""
    states = list(NodeItemState.objects.order_by("pk").values_list())
    with pytest.raises(CountersignError) as refusal:
        machine.push(**written)
    assert not Report.objects.exists()
    assert not ReportReceipt.objects.exists()
    assert list(NodeItemState.objects.order_by("pk").values_list()) == states
    return refusal.value.status, refusal.value.code


def test_a_wrong_secret_is_told_apart_from_nothing(machine: Machine) -> None:
    machine.token = machine.token[:-1] + ("A" if machine.token[-1] != "A" else "B")

    assert refused(machine) == (401, "bad_token")


@pytest.mark.parametrize("text", ["", "cs_agent", "cs_agent_abcdefgh_secret", "cs_gate_abcdefgh_secret", "x" * 5000])
def test_every_other_text_gets_the_same_answer(machine: Machine, text: str) -> None:
    machine.token = text

    assert refused(machine) == (401, "bad_token")


def test_a_revoked_token_is_refused(machine: Machine) -> None:
    revoke_token(token=Token.objects.get(node=machine.node), by=None, reason="stolen", now=NOON)

    assert refused(machine) == (401, "bad_token")


def test_an_expired_token_is_refused(machine: Machine) -> None:
    Token.objects.filter(node=machine.node).update(expires_at=NOON)

    assert refused(machine) == (401, "bad_token")


def test_a_token_from_another_network_is_refused(machine: Machine) -> None:
    Token.objects.filter(node=machine.node).update(networks=["10.0.0.0/8"])

    assert refused(machine) == (401, "bad_token")


def test_a_token_of_an_unknown_pepper_is_refused(machine: Machine) -> None:
    Token.objects.filter(node=machine.node).update(pepper=9)

    assert refused(machine) == (401, "bad_token")


def test_a_token_reports_for_its_own_node_only(machine: Machine) -> None:
    other = enrolled_machine(machine.cluster, "gpu002")
    stolen = machine.report() | {"node": {"hostname": "gpu001", "boot_id": "boot-1", "serials": {}}}
    machine.token = other.token

    assert refused(machine, report=stolen) == (403, "wrong_node")


def test_a_live_node_sends_no_replays(machine: Machine) -> None:
    assert refused(machine, report=machine.report(origin="replay")) == (403, "origin_mismatch")


def test_a_replay_is_refused_where_the_cluster_stopped_accepting_them() -> None:
    cluster = make_cluster("lab", accept_replay=True)
    machine = enrolled_machine(cluster, origin="replay")
    cluster.accept_replay = False
    cluster.save()

    assert refused(machine) == (403, "replay_refused")


def test_a_retired_node_is_told_to_remove_its_agent(machine: Machine) -> None:
    Node.objects.update(retired_at=NOON)

    assert refused(machine) == (403, "node_retired")


def test_the_use_of_a_token_is_noted_at_most_once_a_minute(machine: Machine) -> None:
    noted = []
    for _ in range(3):
        machine.push()
        noted.append(Token.objects.get(node=machine.node).last_used_at)
        machine.sleep(timedelta(seconds=40))

    assert noted == [NOON, NOON, NOON + timedelta(seconds=80)]
