"""Two people, two roles, one digest: who may sign what, and what a signature is worth."""

import json
import zlib
from datetime import timedelta

import pytest

from checks.domain.canonical import Tag, digest
from checks.domain.signoff import SignState, WhyNot
from checks.domain.verdicts import Layer
from checks.models import (
    Evidence,
    LedgerEntry,
    Manifest,
    ManifestBlob,
    NodeItemState,
    Outbox,
    PinnedEvidence,
    Role,
    Run,
    Signature,
    Stage,
)
from checks.selectors.changes import changes_since
from checks.services.evidence import purge_evidence
from checks.services.proofs import Proof, ProofTooOld
from checks.services.runs import MoveRefused, edit_run, move_stage
from checks.services.signing import AlreadySigned, MayNotSign, Moved, NotSignable
from tests.audited import audit_run
from tests.factories import enrolled_machine, make_cluster
from tests.lab import MINUTE, NOON
from tests.people import person
from tests.signed import SIGNERS, Signing, a_signable_run, state, tick

pytestmark = pytest.mark.django_db


@pytest.fixture
def signing() -> Signing:
    return a_signable_run()


def of_layer(signing: Signing, layer: Layer = Layer.PHYSICAL, **at: object) -> SignState:
    return signing.state(**at).layers[layer].state  # type: ignore[arg-type]


def test_a_layer_is_half_signed_by_one_and_signed_by_two(signing: Signing) -> None:
    view = signing.view()
    assert (view.signable, view.blockers) == (True, ())
    signing.sign(Role.HARDWARE)
    assert of_layer(signing) is SignState.HALF
    signing.sign(Role.PLATFORM)

    assert of_layer(signing) is SignState.SIGNED


def test_everybody_signs_everything(signing: Signing) -> None:
    signing.sign_all()

    assert signing.state().signed


def test_what_was_signed_lies_there_leaf_by_leaf(signing: Signing) -> None:
    """The digest of one node is computed here from what is stored, as docs/manifest.md says it is."""
    signature = signing.sign(Role.HARDWARE)
    manifest = Manifest.objects.get(pk=signature.manifest_id)
    node = signing.fleet.node("gpu001")
    leaves = json.loads(zlib.decompress(bytes(ManifestBlob.objects.get(pk=manifest.nodes[str(node.pk)]).body)))
    hashed = {"layer": "physical", "leaves": [digest(Tag.LEAF, leaf) for leaf in leaves]}

    assert digest(Tag.NODE, hashed) == manifest.nodes[str(node.pk)] == node.readiness.digests["physical"]
    assert ["gpu-present", "", "pass"] in [[leaf["item"], leaf["subject"], leaf["settled"]] for leaf in leaves]
    assert manifest.header["run"]["pool"] == sorted(manifest.nodes)


def test_a_signature_stands_in_the_ledger_and_is_told(signing: Signing) -> None:
    signature = signing.sign(Role.HARDWARE)
    entry = LedgerEntry.objects.get(what="signed")

    assert (entry.target, entry.data["digest"], entry.data["round"]) == ("run-7/physical", signature.manifest_id, 1)
    assert [entry.pk] in [row.args for row in Outbox.objects.filter(task="checks.notify")]


def test_a_signature_keeps_the_name_of_that_day_and_how_the_person_proved_to_be_there(signing: Signing) -> None:
    signing.people[Role.HARDWARE].display_name = "Hanna Weiß"
    signing.people[Role.HARDWARE].save()
    signature = Signature.objects.get(pk=signing.sign(Role.HARDWARE).pk)

    assert (signature.printed_name, signature.auth_method, signature.address) == ("Hanna Weiß", "password", "192.0.2.7")
    assert signature.annex["seconds"] == {"gpu-ecc": 12}


def test_the_annex_holds_values_and_ages_and_is_not_signed(signing: Signing) -> None:
    annex = signing.sign(Role.HARDWARE).annex
    row = next(row for row in annex["leaves"]["gpu001"] if row[:2] == ["gpu-temperature", "gpu3"])

    assert (row[2], row[3]["temperature"]) == ("pass", 61)


def test_a_run_is_cleared_once_every_layer_is_signed(signing: Signing) -> None:
    Run.objects.filter(pk=signing.run.pk).update(stage=Stage.SIGNOFF)
    signing.sign(Role.HARDWARE)
    told = {"run": signing.run, "to": Stage.CLEARED, "by": signing.run.owner, "reason": "go", "now": NOON}
    with pytest.raises(MoveRefused, match="Not signed now: physical, system, framework, data, operations"):
        move_stage(**told)
    for layer, role in SIGNERS[1:]:
        signing.sign(role, layer)

    assert move_stage(**told).stage == Stage.CLEARED


# Who may not


def test_a_proof_of_six_minutes_ago_signs_nothing(signing: Signing) -> None:
    with pytest.raises(ProofTooOld):
        signing.sign(Role.HARDWARE, proof=Proof("password", NOON - 6 * MINUTE))

    assert not Signature.objects.exists()


def test_one_person_with_both_roles_fills_one_slot_only(signing: Signing) -> None:
    both = person("both", signing.cluster, Role.HARDWARE, Role.PLATFORM)
    signing.sign(Role.HARDWARE, by=both)
    with pytest.raises(MayNotSign, match="needs another person"):
        signing.sign(Role.PLATFORM, by=both)

    assert of_layer(signing) is SignState.HALF


def test_a_second_engineer_of_the_same_role_completes_nothing(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    with pytest.raises(AlreadySigned, match="the-hardware has signed as hardware engineer"):
        signing.sign(Role.HARDWARE, by=person("second", signing.cluster, Role.HARDWARE))


def test_nobody_signs_in_a_role_that_they_do_not_hold(signing: Signing) -> None:
    with pytest.raises(MayNotSign, match="You are no hardware engineer in helios now"):
        signing.sign(Role.HARDWARE, by=signing.people[Role.PLATFORM])


def test_an_administrator_of_the_site_signs_nothing_by_privilege(signing: Signing) -> None:
    root = person("root")
    root.is_superuser = True
    root.save()
    with pytest.raises(MayNotSign):
        signing.sign(Role.HARDWARE, by=root)


def test_a_role_that_the_policy_does_not_ask_signs_nothing(signing: Signing) -> None:
    with pytest.raises(MayNotSign, match="asks for hardware engineer, AI platform engineer to sign"):
        signing.sign(Role.LEAD)


def test_whoever_stated_a_result_does_not_sign_it(signing: Signing) -> None:
    state(signing, "power-budget", {"feed": 60_000, "cooling": 58_000, "required": 35_000},
          by=signing.people[Role.HARDWARE], at=NOON)  # fmt: skip
    with pytest.raises(MayNotSign, match="attested power-budget"):
        signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM)


def test_a_signer_who_states_a_result_afterwards_counts_no_more(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM)
    facts = {"feed": 60_000, "cooling": 58_000, "required": 35_000}
    state(signing, "power-budget", facts, by=signing.people[Role.HARDWARE], at=NOON + MINUTE)
    after = signing.state(at=NOON + MINUTE).layers[Layer.PHYSICAL]

    assert after.state is SignState.UNSIGNED
    assert WhyNot.CONTRIBUTOR in after.why_not.values()


# The digest that the browser showed


def test_a_digest_that_is_no_longer_current_is_refused_with_what_happened(signing: Signing) -> None:
    shown = signing.view().package.digest
    tick(signing.fleet, "gpu002", at=NOON + 5 * MINUTE, changed={"gpu-pcie-width": {"width": 8}},
         subjects={"gpu-pcie-width": ["gpu3"]})  # fmt: skip
    with pytest.raises(Moved) as refused:
        signing.sign(Role.HARDWARE, shown=shown, at=NOON + 5 * MINUTE)
    flip = next(one for one in refused.value.recently.flips if one.item == "gpu-pcie-width")

    assert (flip.node.hostname, flip.subject, flip.raw_before, flip.raw) == ("gpu002", "gpu3", "pass", "fail")
    assert (refused.value.code, refused.value.status) == ("manifest_changed", 409)
    assert not Signature.objects.exists()


def test_a_second_signer_is_told_item_by_item_what_changed_since_the_first(signing: Signing) -> None:
    first = signing.sign(Role.HARDWARE)
    for minutes in (5, 10, 15):
        tick(signing.fleet, "gpu002", at=NOON + minutes * MINUTE, changed={"gpu-temperature": {"temperature": 61}})
        tick(signing.fleet, "gpu001", at=NOON + minutes * MINUTE, changed={"gpu-pcie-width": {"width": 8}},
             subjects={"gpu-pcie-width": ["gpu3"]})  # fmt: skip
        tick(signing.fleet, "gpu003", at=NOON + minutes * MINUTE)
    with pytest.raises(Moved) as refused:
        signing.sign(Role.PLATFORM, shown=first.manifest_id, at=NOON + 15 * MINUTE)
    changes = refused.value.changes

    assert changes is not None
    assert {host: [(one.item, one.subject, one.what, one.before, one.after) for one in held]
            for host, held in changes.nodes.items()} == {
        "gpu001": [("gpu-pcie-width", "gpu3", "verdict", "pass", "fail")]
    }  # fmt: skip


def test_what_changed_in_the_shared_branch_is_told_item_by_item(signing: Signing) -> None:
    first = signing.sign(Role.LEAD, Layer.OPERATIONS)
    state(signing, "ops-runbook", {"confirmed": False}, at=NOON + MINUTE)
    changes = changes_since(signing.state(at=NOON + MINUTE), Layer.OPERATIONS, first)

    assert [(one.item, one.what, one.before, one.after) for one in changes.shared] == [
        ("ops-runbook", "verdict", "pass", "fail")
    ]


# What can be signed at all


def test_a_missing_statement_keeps_its_layer_from_being_signed(signing: Signing) -> None:
    edit_run(run=signing.run, changes={"dataset": "s3://corpus/v4"}, by=signing.run.owner, reason="", now=NOON)
    audit_run(signing.run, at=NOON, layers=[Layer.DATA])
    with pytest.raises(NotSignable) as refused:
        signing.sign(Role.DATA, Layer.DATA)

    assert [(one.item, one.subject, one.code) for one in refused.value.blockers] == [
        ("data-spot-check", "s3://corpus/v4", "never_measured")
    ]


def test_a_node_with_other_firmware_than_the_rest_is_left_out_by_name(signing: Signing) -> None:
    """It passes by itself; the gate refuses it, so nobody is asked to sign it."""
    vbios = {"gpu-firmware": {"vbios": "96.00.89.00.02"}}
    for minutes in (1, 7, 13):  # until it has settled
        signing.fleet.report("gpu003", at=NOON + minutes * MINUTE, cadence="daily", changed=vbios)
    view = signing.view(Layer.SYSTEM, at=NOON + 13 * MINUTE)
    told = {(one.hostname, one.item, one.code) for one in view.blockers}

    assert told == {("gpu003", "gpu-firmware", "not_uniform")}
    assert [node.hostname for node in view.left_out] == ["gpu003"]


def test_a_node_that_fails_is_left_out_by_name(signing: Signing) -> None:
    tick(signing.fleet, "gpu003", at=NOON + 5 * MINUTE, changed={"gpu-pcie-width": {"width": 8}})
    view = signing.view(at=NOON + 5 * MINUTE)

    assert (view.signable, [node.hostname for node in view.left_out]) == (True, ["gpu003"])
    assert {one.code for one in view.blockers} == {"criterion"}


def test_too_few_nodes_can_not_be_signed(signing: Signing) -> None:
    later = NOON + 20 * MINUTE
    tick(signing.fleet, "gpu001", at=later)
    with pytest.raises(NotSignable, match="1 nodes can be signed and 2 are needed"):
        signing.sign(Role.PLATFORM, Layer.SYSTEM, at=later)


def test_a_node_that_becomes_signable_meanwhile_does_not_disturb_the_second_signer(signing: Signing) -> None:
    tick(signing.fleet, "gpu003", at=NOON + 5 * MINUTE, changed={"sysctl-somaxconn": {"live": 128}})
    first = signing.sign(Role.PLATFORM, Layer.FRAMEWORK, at=NOON + 5 * MINUTE)
    tick(signing.fleet, "gpu003", at=NOON + 10 * MINUTE)
    second = signing.sign(Role.LEAD, Layer.FRAMEWORK, at=NOON + 10 * MINUTE)

    assert (second.manifest_id, second.round) == (first.manifest_id, first.round)


def test_a_thousand_equal_reports_leave_every_digest_as_it_was() -> None:
    machine = enrolled_machine(make_cluster())
    for _ in range(4):
        machine.push()
        machine.sleep()
    before = machine.readiness.digests
    for _ in range(1000):
        machine.push()
        machine.sleep()

    assert machine.readiness.digests == before


def test_raw_texts_that_a_signature_names_are_never_purged(signing: Signing) -> None:
    signing.fleet.report("gpu001", at=NOON + MINUTE, changed={}, evidence={"gpu-ecc": "nvidia-smi -q said so"})
    for name in ("gpu001", "gpu002", "gpu003"):
        tick(signing.fleet, name, at=NOON + 2 * MINUTE)
    text = Evidence.objects.get(text="nvidia-smi -q said so")
    NodeItemState.objects.filter(item="gpu-ecc").update(evidence=text.digest)
    signing.sign(Role.HARDWARE, at=NOON + 2 * MINUTE)
    NodeItemState.objects.update(evidence="")
    purge_evidence(now=NOON + timedelta(days=400))

    assert PinnedEvidence.objects.filter(evidence=text.digest).exists()
    assert Evidence.objects.filter(pk=text.digest).exists()


def test_nothing_of_a_run_that_is_over_is_signed(signing: Signing) -> None:
    Run.objects.filter(pk=signing.run.pk).update(stage=Stage.ABORTED)
    with pytest.raises(MayNotSign, match="is over"):
        signing.sign(Role.HARDWARE)
