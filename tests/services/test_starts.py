"""A run starts, comes back and goes on with a spare; and a gate is forced open."""

from datetime import timedelta
from typing import Any

import pytest

from checks.domain.answers import Basis
from checks.models import LedgerEntry, NodeItemState, NodeReadiness, Override, Role, Run, RunStart, Stage
from checks.selectors.gate_sql import MOST_ROWS
from checks.services.overrides import OverrideRefused, end_override, force_open
from checks.services.permissions import MayNot
from checks.services.runs import MoveRefused
from checks.services.signing import revoke_signature
from checks.services.starts import NotReady, note_restart, note_start, replace_node
from tests.lab import HOUR, MINUTE, NOON
from tests.signed import Signing, a_signable_run, proof, tick

pytestmark = pytest.mark.django_db

NAMES = ("gpu001", "gpu002", "gpu003")


@pytest.fixture
def signing() -> Signing:
    return a_signable_run()


@pytest.fixture
def started(signing: Signing) -> Signing:
    signing.sign_all()
    note_start(run=signing.run, nodes="gpu[001-002]", by=signing.people[Role.LEAD], now=NOON)
    return signing


def later(signing: Signing, minutes: int, **changed: Any) -> None:
    """Every node reports once more."""
    for name in NAMES:
        tick(signing.fleet, name, at=NOON + minutes * MINUTE, changed=changed.get(name))


def forced(signing: Signing, **changes: Any) -> Override:
    told: dict[str, Any] = {
        "run": signing.run, "by": signing.people[Role.LEAD], "reason": "deadline", "ticket": "OPS-17",
        "until": NOON + 4 * HOUR, "proof": proof(), "now": NOON,
    }  # fmt: skip
    return force_open(**told | changes)


def test_an_unsigned_run_starts_nowhere_and_nothing_is_noted(signing: Signing) -> None:
    with pytest.raises(NotReady) as refused:
        note_start(run=signing.run, nodes="gpu[001-002]", by=signing.people[Role.LEAD], now=NOON)

    assert {why.code for why in refused.value.answer.reasons} == {"unsigned"}
    assert (RunStart.objects.count(), Run.objects.get().stage) == (0, Stage.DRAFT)


def test_a_start_freezes_what_it_stands_on(started: Signing) -> None:
    start = RunStart.objects.get()
    entry = LedgerEntry.objects.get(what="run_started")

    assert (start.hostnames, Run.objects.get().stage) == (["gpu001", "gpu002"], Stage.RUNNING)
    assert sorted(part["layer"] for part in start.basis) == ["data", "framework", "operations", "physical", "system"]
    assert start.restart_until == NOON + timedelta(days=13)  # ten days from day 1 on, and a fifth longer
    assert (entry.data["nodes"], entry.data["gate"]) == ("gpu[001-002]", "signed")


@pytest.mark.parametrize("nodes", ["gpu001", "gpu001,GPU001"])
def test_a_run_is_not_started_on_fewer_nodes_than_were_signed_for(signing: Signing, nodes: str) -> None:
    signing.sign_all()
    with pytest.raises(MoveRefused, match="needs 2 nodes and you named 1"):
        note_start(run=signing.run, nodes=nodes, by=signing.people[Role.LEAD], now=NOON)


def test_a_run_does_not_come_back_on_fewer_nodes_than_were_signed_for(started: Signing) -> None:
    with pytest.raises(MoveRefused, match="needs 2 nodes and you named 1"):
        note_restart(run=started.run, nodes="gpu001", by=None, reason="crash", now=NOON)


def test_a_run_is_started_once(started: Signing) -> None:
    with pytest.raises(MoveRefused, match="tell a restart"):
        note_start(run=started.run, nodes="gpu[001-002]", by=started.people[Role.LEAD], now=NOON)


def test_an_engineer_who_does_not_own_the_run_starts_nothing(signing: Signing) -> None:
    signing.sign_all()
    with pytest.raises(MayNot):
        note_start(run=signing.run, nodes="gpu[001-002]", by=signing.people[Role.PLATFORM], now=NOON)


def test_a_run_comes_back_after_its_signatures_expired(started: Signing) -> None:
    """At three in the morning of the fifth day: physical signatures lasted 72 hours."""
    at = NOON + timedelta(days=4, hours=15)
    for name in NAMES:
        started.fleet.report(name, at=at - 6 * MINUTE, cadence="daily")
        for minutes in (5, 4, 3, 2, 1, 0):
            tick(started.fleet, name, at=at - minutes * MINUTE)
    noted = note_restart(
        run=started.run, nodes="gpu[001-002]", by=None, token="abcd1234", reason="node crash", now=at
    )  # fmt: skip

    assert (noted.kind, noted.token, noted.basis) == ("restart", "abcd1234", RunStart.objects.last().basis)  # type: ignore[union-attr]


def test_a_run_does_not_come_back_on_a_node_that_fails(started: Signing) -> None:
    later(started, 5, gpu002={"gpu-pcie-width": {"width": 8}})
    with pytest.raises(NotReady) as refused:
        note_restart(run=started.run, nodes="gpu[001-002]", by=None, reason="crash", now=NOON + 5 * MINUTE)

    assert {(why.node, why.item) for why in refused.value.answer.reasons} == {("gpu002", "gpu-pcie-width")}


def test_a_run_does_not_come_back_with_another_driver(started: Signing) -> None:
    started.fleet.report(
        "gpu001", at=NOON + MINUTE, cadence="daily", changed={"gpu-firmware": {"vbios": "96.00.89.00.02"}},
        subjects={"gpu-firmware": ["gpu5"]},
    )  # fmt: skip
    later(started, 5)
    with pytest.raises(NotReady) as refused:
        note_restart(run=started.run, nodes="gpu[001-002]", by=None, reason="crash", now=NOON + 5 * MINUTE)
    changed = [why for why in refused.value.answer.reasons if why.code == "identity_changed"]

    assert [(why.node, why.item, why.subject, why.value) for why in changed] == [
        ("gpu001", "gpu-firmware", "gpu5", "vbios 96.00.89.00.02")
    ]


def test_a_revoked_signature_keeps_a_run_from_coming_back(started: Signing) -> None:
    first = started.state().signatures
    signature = next(iter(first.values()))[0]
    revoke_signature(signature=signature, by=signature.signer, reason="wrong cluster", proof=proof(), now=NOON)
    with pytest.raises(NotReady) as refused:
        note_restart(run=started.run, nodes="gpu[001-002]", by=None, reason="crash", now=NOON)

    assert "revoked" in {why.code for why in refused.value.answer.reasons}


def test_a_spare_of_the_pool_takes_a_nodes_place_without_a_new_signature(started: Signing) -> None:
    later(started, 5)
    noted = replace_node(
        run=started.run, old="gpu002", new="gpu003", by=None, reason="fan", now=NOON + 5 * MINUTE
    )  # fmt: skip

    assert (noted.kind, noted.hostnames) == ("replacement", ["gpu001", "gpu003"])
    assert LedgerEntry.objects.filter(what="run_node_replaced").exists()


def test_a_node_from_outside_the_pool_takes_nobodys_place(started: Signing) -> None:
    started.fleet.enrol("gpu009", at=NOON)
    with pytest.raises(NotReady) as refused:
        replace_node(run=started.run, old="gpu002", new="gpu009", by=None, reason="fan", now=NOON)

    assert "not_in_pool" in {why.code for why in refused.value.answer.reasons}


# Override


def test_an_override_lists_every_row_that_is_in_the_way(signing: Signing) -> None:
    """An answer shows a hundred of them; whoever forces the gate open accepts all there are."""
    lost = NodeItemState.objects.filter(node__hostname="gpu001").exclude(cadence="start")
    number = lost.update(raw="unknown", reason="not_measured", blocks=2, severity="blocker", shadow=False)
    NodeReadiness.objects.filter(node__hostname="gpu001").update(start_bad=number, health_bad=number)
    forced(signing)

    assert number > MOST_ROWS
    assert signing.ask(NAMES).answer().ready


def test_a_forced_gate_says_so_and_looks_like_no_signature(signing: Signing) -> None:
    override = forced(signing)
    answer = signing.ask(NAMES).answer()

    assert (answer.ready, answer.basis) == (True, Basis.OVERRIDE)
    assert {one.state for one in answer.signatures} == {"unsigned"}
    assert ["", "", "physical", "unsigned"] in override.accepted
    assert LedgerEntry.objects.get(what="gate_forced_open").data["ticket"] == "OPS-17"


def test_a_new_blocker_closes_a_forced_gate_again(signing: Signing) -> None:
    forced(signing)
    later(signing, 5, gpu002={"gpu-pcie-width": {"width": 8}})
    answer = signing.ask(NAMES, at=NOON + 5 * MINUTE).answer()

    assert not answer.ready
    assert "override_ended" in {why.code for why in answer.reasons}


def test_a_forced_gate_closes_when_it_is_taken_back_and_at_its_time(signing: Signing) -> None:
    override = forced(signing, until=NOON + 10 * MINUTE)
    assert not signing.ask(NAMES, at=NOON + 11 * MINUTE).answer().ready
    assert signing.ask(NAMES, at=NOON + MINUTE).answer().ready
    end_override(override=override, by=signing.people[Role.LEAD], reason="solved", proof=proof(), now=NOON)

    assert not signing.ask(NAMES, at=NOON + MINUTE).answer().ready


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"until": NOON + 25 * HOUR}, "at most 24 hours"),
        ({"ticket": " "}, "Name the ticket"),
    ],
)
def test_an_override_without_an_end_or_a_ticket_is_refused(
    signing: Signing, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(OverrideRefused, match=sentence):
        forced(signing, **changes)


def test_an_engineer_forces_no_gate_open(signing: Signing) -> None:
    with pytest.raises(MayNot, match="lead, administrator"):
        forced(signing, by=signing.people[Role.HARDWARE])


def test_a_gate_that_is_open_needs_no_force(signing: Signing) -> None:
    signing.sign_all()
    with pytest.raises(OverrideRefused, match="Nothing is in the way"):
        forced(signing)
