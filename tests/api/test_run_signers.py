"""Who signed, and whether it still counts when the gate is asked: held to the pages, as all of a run's answers."""

from datetime import timedelta

import pytest
from django.test import Client

from checks.domain.verdicts import Layer
from checks.models import Role
from checks.services.clusters import set_overrides
from checks.services.delegations import delegate, end_delegation
from checks.services.people import end_role
from tests.api.run_lab import RunGate
from tests.lab import HOUR, NOON, SECOND
from tests.people import person
from tests.signed import STATED, a_signable_run, proof, state

pytestmark = pytest.mark.django_db

THRESHOLD = {"sysctl-somaxconn": {"live": {"threshold": 32768, "reason": "noise", "source": "ours"}}}


@pytest.fixture
def gate(client: Client) -> RunGate:
    return RunGate(client, a_signable_run())


def states(gate: RunGate) -> dict[str, str]:
    return {one["layer"]: one["state"] for one in gate.at(NOON + SECOND)["signatures"]}


def test_a_signer_who_lost_the_role_no_longer_counts_in_any_layer(gate: RunGate) -> None:
    signing = gate.signing
    signing.sign_all()
    end_role(
        user=signing.people[Role.LEAD], cluster=signing.cluster, role=Role.LEAD, by=None, reason="moved on", now=NOON
    )  # fmt: skip

    assert states(gate) == {
        "physical": "signed", "system": "signed", "framework": "unsigned", "data": "unsigned",
        "operations": "unsigned",
    }  # fmt: skip


def test_a_delegate_counts_until_the_delegation_is_taken_back(gate: RunGate) -> None:
    signing = gate.signing
    helper = person("helper", signing.cluster, Role.HARDWARE)
    held = delegate(
        cluster=signing.cluster, role=Role.HARDWARE, giver=signing.people[Role.HARDWARE], receiver=helper,
        starts_at=NOON - HOUR, ends_at=NOON + timedelta(days=2), reason="holiday", proof=proof(), now=NOON,
    )  # fmt: skip
    signing.sign(Role.HARDWARE, by=helper, delegation=held)
    signing.sign(Role.PLATFORM)
    before = states(gate)["physical"]
    end_delegation(delegation=held, by=signing.people[Role.HARDWARE], reason="back", proof=proof(), now=NOON)

    assert (before, states(gate)["physical"]) == ("signed", "unsigned")


def test_a_signer_who_edits_a_threshold_has_a_hand_in_its_layer(gate: RunGate) -> None:
    signing = gate.signing
    signing.sign_all()
    editor = signing.people[Role.PLATFORM]
    set_overrides(cluster=signing.cluster, overrides=THRESHOLD, by=editor, reason="noise", now=NOON + SECOND)
    outdated = states(gate)
    set_overrides(cluster=signing.cluster, overrides={}, by=editor, reason="back", now=NOON + SECOND)

    assert (outdated["system"], outdated["framework"]) == ("outdated", "signed")
    put_back = states(gate)
    assert put_back["system"] != "signed"
    assert {put_back[layer] for layer in ("physical", "framework", "data", "operations")} == {"signed"}


def test_a_signer_who_states_a_result_has_a_hand_in_its_layer(gate: RunGate) -> None:
    signing = gate.signing
    signing.sign_all()
    state(
        signing, "ops-runbook", STATED["ops-runbook"], by=signing.people[Role.LEAD], at=NOON + SECOND
    )  # fmt: skip

    assert states(gate)["operations"] == "unsigned"
    assert states(gate)[Layer.FRAMEWORK] == "signed"
