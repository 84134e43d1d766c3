"""How machines become nodes, and who may take a hostname."""

from datetime import timedelta

import pytest

from checks.domain.errors import CountersignError
from checks.models import LedgerEntry, Node, NodeItemState, Token
from checks.services.clusters import set_node_profile, set_overrides
from checks.services.enrolment import Enrolled, Enrolment, allow_reenrolment, enrol_node
from checks.services.nodes import retire_node
from checks.services.tokens import revoke_token
from tests.factories import NOON, enrolled_machine, enrolment_token, make_cluster
from tests.people import person

pytestmark = pytest.mark.django_db


def enrol(token: str, hostname: str = "gpu001", *, address: str = "127.0.0.1", after: int = 0, **said: str) -> Enrolled:
    asked = Enrolment(hostname, {"system": "SYS-1"}, "boot-1", "0.1.0", said.pop("origin", "live"), **said)
    return enrol_node(bearer=token, enrolment=asked, address=address, now=NOON + timedelta(seconds=after))


def refusal(token: str, hostname: str = "gpu001", **said: object) -> tuple[int, str]:
    """Status and code, once it is sure that no second node came to be."""
    before = Node.objects.count()
    with pytest.raises(CountersignError) as refused:
        enrol(token, hostname, **said)  # type: ignore[arg-type]
    assert Node.objects.count() == before
    return refused.value.status, refused.value.code


def test_a_machine_gets_a_token_of_its_own_and_rows_that_know_nothing() -> None:
    enrolled = enrol(enrolment_token(make_cluster(training_env="none")), "GPU001.example.com")

    assert enrolled.node.hostname == "gpu001.example.com"
    assert enrolled.token.startswith("cs_agent_")
    rows = NodeItemState.objects.filter(node=enrolled.node)
    assert set(rows.exclude(raw="na").values_list("raw", flat=True)) == {"unknown"}
    # Its cluster names no training environment.
    assert set(rows.filter(raw="na").values_list("layer", "cadence")) == {("framework", "daily")}


def test_a_node_that_never_reported_is_not_healthy() -> None:
    machine = enrolled_machine(make_cluster())

    assert machine.readiness.health_bad == machine.readiness.tick_expected + machine.readiness.daily_expected > 0


def test_a_taken_hostname_is_refused_and_people_are_told() -> None:
    token = enrolment_token(make_cluster())
    enrol(token)

    assert refusal(token) == (409, "already_enrolled")
    assert LedgerEntry.objects.filter(what="enrolment_refused", target="gpu001").exists()


def test_the_same_hostname_in_capitals_is_the_same_hostname() -> None:
    token = enrolment_token(make_cluster())
    enrol(token)

    assert refusal(token, "GPU001") == (409, "already_enrolled")


def test_a_node_enrols_again_with_its_own_live_token_and_the_old_one_ends() -> None:
    first = enrol(enrolment_token(make_cluster()))
    again = enrol(first.token)

    assert again.node == first.node
    assert Token.objects.filter(node=first.node, revoked_at=None).count() == 1
    assert refusal(first.token) == (401, "bad_token")


def test_a_nodes_own_token_enrols_no_other_machine() -> None:
    first = enrol(enrolment_token(make_cluster()))

    assert refusal(first.token, "gpu002") == (403, "enrolment_refused")


def test_a_person_may_open_a_hostname_for_a_quarter_of_an_hour() -> None:
    cluster = make_cluster()
    token = enrolment_token(cluster)
    node = enrol(token).node
    allow_reenrolment(node=node, by=person("ada"), reason="disk replaced", now=NOON)

    assert refusal(token, after=900) == (409, "already_enrolled")
    assert enrol(token, after=899).node == node
    assert LedgerEntry.objects.filter(what="reenrolment_allowed", reason="disk replaced").exists()


def test_a_hostname_whose_token_was_revoked_enrols_again_and_keeps_its_history() -> None:
    token = enrolment_token(make_cluster())
    first = enrol(token)
    revoke_token(token=Token.objects.get(node=first.node), by=None, reason="rotated", now=NOON)

    assert enrol(token).node == first.node


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"hostname_pattern": "gpu*"}, {"hostname": "web01"}),
        ({}, {"hostname": "gpu002", "cluster": "beta"}),
    ],
    ids=["hostname pattern", "other cluster"],
)
def test_a_token_enrols_only_what_it_is_for(limits: dict[str, str], said: dict[str, str]) -> None:
    token = enrolment_token(make_cluster(), **limits)

    assert refusal(token, **said) == (403, "enrolment_refused")


def test_a_token_from_another_network_is_refused_like_a_wrong_one() -> None:
    token = enrolment_token(make_cluster(), networks=["10.0.0.0/8"])

    assert refusal(token) == (401, "bad_token")


def test_a_token_with_one_use_left_enrols_one_machine() -> None:
    token = enrolment_token(make_cluster(), uses_left=1)
    enrol(token)

    assert refusal(token, "gpu002") == (401, "bad_token")


def test_replays_enrol_only_where_the_cluster_accepts_them() -> None:
    assert refusal(enrolment_token(make_cluster()), origin="replay") == (403, "replay_refused")
    assert enrol(enrolment_token(make_cluster("lab", accept_replay=True)), origin="replay").node.origin == "replay"


def test_a_live_node_stays_one() -> None:
    first = enrol(enrolment_token(make_cluster(accept_replay=True)))

    assert refusal(first.token, origin="replay") == (403, "enrolment_refused")


def test_another_nodes_token_opens_no_hostname_that_a_person_opened() -> None:
    token = enrolment_token(make_cluster())
    node, stranger = enrol(token).node, enrol(token, "gpu002")
    allow_reenrolment(node=node, by=person("ada"), reason="disk replaced", now=NOON)

    assert refusal(stranger.token, "gpu001") == (403, "enrolment_refused")


def test_another_nodes_token_takes_no_hostname_whose_token_was_revoked() -> None:
    token = enrolment_token(make_cluster())
    node, stranger = enrol(token).node, enrol(token, "gpu002")
    revoke_token(token=Token.objects.get(node=node), by=None, reason="rotated", now=NOON)

    assert refusal(stranger.token, "gpu001") == (403, "enrolment_refused")


def test_a_retired_node_that_returns_finds_rules_for_its_own_profile() -> None:
    """Without them the gate would call it *unknown* until somebody changes the rules for another reason."""
    cluster, ada = make_cluster(), person("ada")
    token = enrolment_token(cluster)
    node = enrol(token).node
    set_node_profile(node=node, profile="no-gpu", by=ada, reason="login node", now=NOON)
    retire_node(node=node, by=ada, reason="repair", now=NOON)
    set_overrides(cluster=cluster, overrides={}, by=ada, reason="none", now=NOON)
    allow_reenrolment(node=node, by=ada, reason="repaired", now=NOON)
    enrol(token)
    cluster.refresh_from_db()

    assert set(cluster.judged_under) == {"8xh200", "no-gpu"}
