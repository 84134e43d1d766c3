"""A setting becomes an item: the next tick judges it, one person makes it warn, a second one lets it block."""

from datetime import timedelta

import pytest

from checks.domain.setting_items import item_key
from checks.domain.verdicts import Cadence
from checks.models import Cluster, LedgerEntry, Role, SettingItem, Token
from checks.selectors.rules import ruleset_for
from checks.selectors.setting_items import open_settings
from checks.services.permissions import MayNot
from checks.services.plans import plan_for_agent
from checks.services.proofs import Proof
from checks.services.setting_items import SettingTaken, accept_setting_item, end_setting_item, make_setting_item
from tests.factories import NOON, Machine, enrolled_machine, healthy_facts, make_cluster
from tests.incidents import opened
from tests.people import person

NAME = "sysctl:net.core.rmem_max"
KEY = item_key(NAME)
MINUTE = timedelta(minutes=1)
PROOF = Proof("password", NOON)

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster(), "gpu-001")


def made(cluster: Cluster, who: str = "quill") -> SettingItem:
    lead = person(who, cluster, Role.LEAD)
    return make_setting_item(cluster=cluster, name=NAME, equals="5000", by=lead, reason="1 of 64 differs", now=NOON)


def report(machine: Machine, value: str) -> None:
    machine.sleep()
    machine.push(facts=healthy_facts() | {KEY: {"": {"value": (value, "text")}}})


def test_the_next_tick_of_a_node_that_is_set_otherwise_fails(machine: Machine) -> None:
    made(machine.cluster)

    report(machine, "1000")

    state = machine.state(KEY)
    assert (state.raw, state.severity, state.blocks) == ("fail", "warning", 0)


def test_the_next_tick_of_a_node_that_is_set_alike_passes(machine: Machine) -> None:
    made(machine.cluster)

    report(machine, "5000")

    assert machine.state(KEY).raw == "pass"


def test_a_node_that_has_not_told_yet_is_unknown_and_stopped_by_nothing(machine: Machine) -> None:
    report(machine, "1000")
    made(machine.cluster)

    state = machine.state(KEY)
    assert (state.raw, state.blocks) == ("unknown", 0)


def test_the_plan_names_the_item_and_its_setting(machine: Machine) -> None:
    made(machine.cluster)

    token = Token.objects.select_related("node__cluster").get(node=machine.node)
    plan = plan_for_agent(token=token, now=NOON).plan

    assert KEY in plan.tick
    assert [(one.item, one.name) for one in plan.settings] == [(KEY, NAME)]


def test_it_blocks_once_a_second_person_accepted_it(machine: Machine) -> None:
    item = made(machine.cluster)
    report(machine, "1000")

    accept_setting_item(item=item, by=person("rowan", machine.cluster, Role.LEAD), proof=PROOF, now=NOON + MINUTE)

    state = machine.state(KEY)
    assert (state.raw, state.severity, state.blocks) == ("fail", "blocker", 2)


def test_who_made_it_an_item_cannot_let_it_block(machine: Machine) -> None:
    item = made(machine.cluster)

    with pytest.raises(MayNot, match="another lead"):
        accept_setting_item(item=item, by=item.by, proof=PROOF, now=NOON)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.HARDWARE, Role.PLATFORM, Role.DATA])
def test_who_does_not_lead_makes_no_item(machine: Machine, role: Role) -> None:
    somebody = person("somebody", machine.cluster, role)

    with pytest.raises(MayNot):
        make_setting_item(cluster=machine.cluster, name=NAME, equals="1", by=somebody, reason="because", now=NOON)
    assert open_settings(machine.cluster) == ()


def test_a_setting_is_an_item_once(machine: Machine) -> None:
    made(machine.cluster)

    with pytest.raises(SettingTaken):
        made(machine.cluster, "rowan")


def test_an_ended_item_is_asked_of_no_node_and_its_row_goes(machine: Machine) -> None:
    item = made(machine.cluster)
    report(machine, "1000")

    end_setting_item(item=item, by=item.by, reason="was wrong", proof=PROOF, now=NOON + MINUTE)

    machine.cluster.refresh_from_db()
    assert KEY not in ruleset_for(machine.cluster).due(Cadence.TICK)
    assert "settings" not in machine.cluster.overrides
    assert not machine.node.states.filter(item=KEY).exists()
    with pytest.raises(SettingTaken):
        end_setting_item(item=item, by=item.by, reason="twice", proof=PROOF, now=NOON + MINUTE)


def test_every_step_is_in_the_ledger_under_its_person(machine: Machine) -> None:
    item = made(machine.cluster)
    accept_setting_item(item=item, by=person("rowan", machine.cluster, Role.LEAD), proof=PROOF, now=NOON)

    entries = LedgerEntry.objects.filter(what="overrides_changed").order_by("seq")
    assert [(entry.name, entry.data["after"]["settings"][NAME]["blocks"]) for entry in entries] == [
        ("quill", False),
        ("rowan", True),
    ]


def test_the_incident_that_it_should_have_caught_is_linked_after_the_item_stands(machine: Machine) -> None:
    """Two acts: incidents are locked before the ledger in every act, or two acts wait for each other."""
    incident = opened(machine.cluster).incident
    make_setting_item(
        cluster=machine.cluster, name=NAME, equals="5000", by=person("quill", machine.cluster, Role.LEAD),
        reason="1 of 64 differs", now=NOON, escaped=incident,
    )  # fmt: skip

    assert list(incident.links.values_list("item", "relation")) == [(KEY, "should_have_caught")]
    acts = LedgerEntry.objects.order_by("seq").values_list("what", flat=True)
    assert [*acts][-2:] == ["overrides_changed", "incident_linked"]


def test_an_incident_of_another_cluster_makes_no_item(machine: Machine) -> None:
    with pytest.raises(MayNot, match="another cluster"):
        make_setting_item(
            cluster=machine.cluster, name=NAME, equals="5000", by=person("quill", machine.cluster, Role.LEAD),
            reason="1 of 64 differs", now=NOON, escaped=opened(make_cluster("beta")).incident,
        )  # fmt: skip
    assert not SettingItem.objects.exists()
