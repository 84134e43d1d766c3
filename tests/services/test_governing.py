"""What people agree on beside signatures: policies, delegations and waivers."""

import re
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from checks.domain.policy import DEFAULT_POLICY, InvalidPolicy
from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer
from checks.models import Delegation, LedgerEntry, Role, Waiver
from checks.selectors.policies import policy_in_force
from checks.services.catalog import load_catalogue
from checks.services.clusters import set_overrides
from checks.services.delegations import DelegationRefused, delegate, end_delegation
from checks.services.people import end_role
from checks.services.permissions import MayNot
from checks.services.policies import PolicySettled, approve_policy, propose_policy
from checks.services.proofs import Proof, ProofTooOld
from checks.services.signing import MayNotSign
from checks.services.waivers import WaiverRefused, approve_waiver, ask_waiver, end_waiver
from portal.accounts.models import User
from tests.lab import HOUR, MINUTE, NOON
from tests.people import person
from tests.signed import Signing, a_signable_run, proof, tick

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
CATALOGUE = Path(__file__).resolve().parents[2] / "checks" / "catalog"


@pytest.fixture
def signing() -> Signing:
    return a_signable_run()


def of_layer(signing: Signing, layer: Layer, **at: Any) -> SignState:
    return signing.state(**at).layers[layer].state


def proposal(signing: Signing, **changes: Any) -> Any:
    return propose_policy(
        cluster=signing.cluster, document={**DEFAULT_POLICY.as_json(), **changes}, by=signing.people[Role.LEAD],
        reason="we are four", proof=proof(), now=NOON,
    )  # fmt: skip


# Policy


def test_a_policy_is_in_force_once_a_second_person_agreed_and_outdates_what_was_signed(signing: Signing) -> None:
    signing.sign(Role.PLATFORM, Layer.SYSTEM)
    proposed = proposal(signing, contributors_may_sign=True)
    assert of_layer(signing, Layer.SYSTEM) is SignState.SIGNED
    approve_policy(policy=proposed, by=person("boss", signing.cluster, Role.ADMIN), proof=proof(), now=NOON)

    assert (policy_in_force(signing.cluster).number, of_layer(signing, Layer.SYSTEM)) == (1, SignState.OUTDATED)


def test_nobody_approves_their_own_policy(signing: Signing) -> None:
    with pytest.raises(MayNot, match="proposed this policy yourself"):
        approve_policy(policy=proposal(signing), by=signing.people[Role.LEAD], proof=proof(), now=NOON)

    assert policy_in_force(signing.cluster).number == 0


def test_an_engineer_neither_proposes_nor_approves_a_policy(signing: Signing) -> None:
    with pytest.raises(MayNot):
        approve_policy(policy=proposal(signing), by=signing.people[Role.PLATFORM], proof=proof(), now=NOON)


def test_an_older_proposal_does_not_replace_the_policy_in_force(signing: Signing) -> None:
    old, new = proposal(signing), proposal(signing, contributors_may_sign=True)
    boss = person("boss", signing.cluster, Role.ADMIN)
    approve_policy(policy=new, by=boss, proof=proof(), now=NOON)
    with pytest.raises(PolicySettled):
        approve_policy(policy=old, by=boss, proof=proof(), now=NOON)


def test_no_policy_leaves_the_physical_layer_to_one_person(signing: Signing) -> None:
    layers = {**DEFAULT_POLICY.as_json()["layers"], "physical": {"roles": ["hardware"]}}  # type: ignore[dict-item]
    with pytest.raises(InvalidPolicy, match="hardware and platform"):
        proposal(signing, layers=layers)


def test_a_relaxed_policy_lets_a_contributor_sign_and_the_signature_says_so(signing: Signing) -> None:
    approve_policy(
        policy=proposal(signing, contributors_may_sign=True), by=person("boss", signing.cluster, Role.ADMIN),
        proof=proof(), now=NOON,
    )  # fmt: skip
    signature = signing.sign(Role.DATA, Layer.DATA, by=signing.clerk)

    assert signature.contributor


def test_whoever_edits_a_threshold_does_not_approve_the_result(signing: Signing) -> None:
    """Self-approval by editing the rule: the layer of that threshold is closed to the editor, others are not."""
    own = {"sysctl-somaxconn": {"live": {"threshold": 32768, "reason": "noise", "source": "ours"}}}
    editor = signing.people[Role.PLATFORM]
    set_overrides(cluster=signing.cluster, overrides=own, by=editor, reason="noise", now=NOON)
    with pytest.raises(MayNotSign, match="overrides_changed"):
        signing.sign(Role.PLATFORM, Layer.SYSTEM)
    signing.sign(Role.PLATFORM, Layer.FRAMEWORK)


def test_an_edit_that_was_asked_for_before_the_signatures_and_took_effect_after_them_is_one(signing: Signing) -> None:
    """It waited for a lock: its time is the older one, its number in the ledger is not."""
    own = {"sysctl-somaxconn": {"live": {"threshold": 32768, "reason": "noise", "source": "ours"}}}
    editor = signing.people[Role.PLATFORM]
    signing.sign(Role.PLATFORM, Layer.SYSTEM)
    set_overrides(cluster=signing.cluster, overrides=own, by=editor, reason="noise", now=NOON - MINUTE)
    with pytest.raises(MayNotSign, match="overrides_changed"):
        signing.sign(Role.PLATFORM, Layer.SYSTEM)


def test_a_threshold_outdates_its_own_layer_only(signing: Signing) -> None:
    signing.sign_all()
    own = {"sysctl-somaxconn": {"live": {"threshold": 32768, "reason": "noise", "source": "ours"}}}
    set_overrides(cluster=signing.cluster, overrides=own, by=None, reason="noise", now=NOON)
    outdated = {layer for layer, state in signing.state().layers.items() if state.state is SignState.OUTDATED}

    assert outdated == {Layer.SYSTEM}


def test_a_threshold_of_what_no_node_holds_outdates_its_layer_and_judges_it_again(signing: Signing) -> None:
    signing.sign_all()
    own = {"data-spot-check": {"documents": {"threshold": 500, "reason": "more", "source": "ours"}}}
    set_overrides(cluster=signing.cluster, overrides=own, by=None, reason="more", now=NOON)

    assert of_layer(signing, Layer.DATA) is SignState.OUTDATED
    assert [one.code for one in signing.view(Layer.DATA).blockers] == ["criterion"]
    assert of_layer(signing, Layer.OPERATIONS) is SignState.SIGNED


def test_a_catalogue_with_other_texts_only_outdates_nothing(signing: Signing, tmp_path: Path) -> None:
    signing.sign_all()
    shutil.copytree(CATALOGUE, tmp_path / "catalog")
    file = tmp_path / "catalog" / "physical.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r'(?m)^title = "', 'title = "Really: ', text), encoding="utf-8")
    loaded = load_catalogue(path=tmp_path / "catalog", by=None, now=NOON)

    assert (loaded.nodes, loaded.changes != ()) == (3, True)
    assert signing.state().signed


# Delegation


def given(signing: Signing, giver: User, receiver: User, *, days: float = 3, role: Role = Role.HARDWARE) -> Delegation:
    return delegate(
        cluster=signing.cluster, role=role, giver=giver, receiver=receiver, starts_at=NOON - HOUR,
        ends_at=NOON + days * DAY, reason="holiday", proof=proof(), now=NOON,
    )  # fmt: skip


def test_a_delegate_signs_in_their_own_name_until_the_delegation_ends(signing: Signing) -> None:
    helper = person("helper", signing.cluster, Role.HARDWARE)
    held = given(signing, signing.people[Role.HARDWARE], helper, days=2)
    signature = signing.sign(Role.HARDWARE, by=helper, delegation=held)
    signing.sign(Role.PLATFORM)

    assert (signature.printed_name, signature.expires_at) == ("helper", NOON + 2 * DAY)
    assert of_layer(signing, Layer.PHYSICAL) is SignState.SIGNED
    end_delegation(delegation=held, by=signing.people[Role.HARDWARE], reason="back", proof=proof(), now=NOON)
    assert of_layer(signing, Layer.PHYSICAL) is SignState.UNSIGNED


def test_a_delegation_makes_no_signer_of_somebody_without_the_role(signing: Signing) -> None:
    with pytest.raises(MayNot, match="both people need the role itself"):
        given(signing, signing.people[Role.HARDWARE], signing.people[Role.PLATFORM])


def test_a_delegation_is_not_handed_on(signing: Signing) -> None:
    second, third = (person(name, signing.cluster, Role.HARDWARE) for name in ("second", "third"))
    given(signing, signing.people[Role.HARDWARE], second)
    with pytest.raises(DelegationRefused, match="not handed on"):
        given(signing, second, third)


def test_a_delegation_lasts_at_most_fourteen_days(signing: Signing) -> None:
    with pytest.raises(DelegationRefused, match="at most 14 days"):
        given(signing, signing.people[Role.HARDWARE], person("second", signing.cluster, Role.HARDWARE), days=15)


def test_nobody_stands_behind_two_slots_by_a_delegation(signing: Signing) -> None:
    """The giver holds both roles: one slot by the delegate's hand, and the other by their own."""
    both = person("both", signing.cluster, Role.HARDWARE, Role.PLATFORM)
    helper = person("helper", signing.cluster, Role.HARDWARE)
    signing.sign(Role.HARDWARE, by=helper, delegation=given(signing, both, helper))
    with pytest.raises(MayNotSign, match="by you or for you"):
        signing.sign(Role.PLATFORM, by=both)


def test_somebody_elses_delegation_signs_nothing(signing: Signing) -> None:
    helper, other = (person(name, signing.cluster, Role.HARDWARE) for name in ("helper", "other"))
    held = given(signing, signing.people[Role.HARDWARE], helper)
    with pytest.raises(MayNotSign, match="That delegation does not let you"):
        signing.sign(Role.HARDWARE, by=other, delegation=held)


# Waiver


def broken(signing: Signing) -> None:
    """gpu003 has a half-wide PCIe link, for long enough to settle (one tick: it is a hardware fault)."""
    tick(signing.fleet, "gpu003", at=NOON + 5 * MINUTE, changed={"gpu-pcie-width": {"width": 8}},
         subjects={"gpu-pcie-width": ["gpu3"]})  # fmt: skip


def asked(signing: Signing, **changes: Any) -> Waiver:
    told: dict[str, Any] = {
        "run": signing.run, "item": "gpu-pcie-width", "nodes": "gpu003", "until": NOON + DAY,
        "by": signing.people[Role.HARDWARE], "role": Role.HARDWARE, "reason": "spare part is on its way",
        "proof": proof(NOON + 5 * MINUTE), "now": NOON + 5 * MINUTE,
    }  # fmt: skip
    return ask_waiver(**told | changes)


def agree(signing: Signing, waiver: Waiver, role: Role = Role.PLATFORM, by: User | None = None) -> None:
    at = NOON + 6 * MINUTE
    approve_waiver(waiver=waiver, by=by or signing.people[role], role=role, proof=proof(at), now=at)


def left_out(signing: Signing, **at: Any) -> list[str]:
    return [node.hostname for node in signing.view(**at).left_out]


def test_a_failure_is_signable_while_two_people_accept_it_and_blocks_when_that_ends(signing: Signing) -> None:
    broken(signing)
    waiver = asked(signing)
    assert left_out(signing, at=NOON + 5 * MINUTE) == ["gpu003"]
    agree(signing, waiver)
    view = signing.view(at=NOON + 6 * MINUTE)

    assert (left_out(signing, at=NOON + 6 * MINUTE), view.package.header["waivers"][0]["item"]) == (  # type: ignore[index]
        [], "gpu-pcie-width",
    )  # fmt: skip
    for minutes in range(10, 24 * 60 + 10, 300):
        tick(signing.fleet, "gpu003", at=NOON + minutes * MINUTE, changed={"gpu-pcie-width": {"width": 8}})
    assert signing.state(at=NOON + DAY + MINUTE).waivers == ()


def test_a_waiver_that_is_taken_back_outdates_what_was_signed_with_it(signing: Signing) -> None:
    broken(signing)
    waiver = asked(signing)
    agree(signing, waiver)
    at = NOON + 6 * MINUTE
    signing.sign(Role.HARDWARE, at=at)
    signing.sign(Role.PLATFORM, at=at)
    end_waiver(waiver=waiver, by=signing.people[Role.LEAD], reason="burnt out", proof=proof(at), now=at)

    assert of_layer(signing, Layer.PHYSICAL, at=at) is SignState.OUTDATED


def test_nobody_agrees_to_their_own_waiver_nor_in_the_same_role(signing: Signing) -> None:
    broken(signing)
    both = person("both", signing.cluster, Role.HARDWARE, Role.PLATFORM)
    waiver = asked(signing, by=both)
    with pytest.raises(MayNot, match="asked for this waiver yourself"):
        agree(signing, waiver, by=both)
    with pytest.raises(MayNot, match="another role of the layer"):
        agree(signing, waiver, Role.HARDWARE)


def test_what_does_not_fail_is_not_waived(signing: Signing) -> None:
    broken(signing)
    with pytest.raises(WaiverRefused, match="does not fail on gpu002"):
        asked(signing, nodes="gpu[002-003]")


def test_a_data_engineer_waives_no_hardware(signing: Signing) -> None:
    broken(signing)
    with pytest.raises(MayNot, match="hardware engineer, AI platform engineer"):
        asked(signing, by=signing.people[Role.DATA], role=Role.DATA)


def test_every_act_needs_a_fresh_proof(signing: Signing) -> None:
    broken(signing)
    old = Proof("password", NOON - MINUTE)
    with pytest.raises(ProofTooOld):
        asked(signing, proof=old)
    with pytest.raises(ProofTooOld):
        end_delegation(
            delegation=given(signing, signing.people[Role.HARDWARE], person("s", signing.cluster, Role.HARDWARE)),
            by=signing.people[Role.HARDWARE], reason="x", proof=old, now=NOON + 5 * MINUTE,
        )  # fmt: skip

    assert not LedgerEntry.objects.filter(what="waiver_asked").exists()


def test_a_proposer_who_lost_the_lead_has_no_policy_approved(signing: Signing) -> None:
    proposed = proposal(signing)
    end_role(user=signing.people[Role.LEAD], cluster=signing.cluster, role=Role.LEAD, by=None, reason="x", now=NOON)
    with pytest.raises(MayNot):
        approve_policy(policy=proposed, by=person("boss", signing.cluster, Role.ADMIN), proof=proof(), now=NOON)
