"""What ends a signature, and what does not: a state is asked, and stored nowhere."""

from datetime import timedelta

import pytest

from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer
from checks.models import (
    Node,
    Role,
    Run,
    Stage,
)
from checks.services.nodes import confirm_node
from checks.services.people import end_role, grant_role
from checks.services.permissions import MayNot
from checks.services.runs import edit_run
from checks.services.shared_items import derive_shared_items
from checks.services.signing import AlreadySigned, revoke_signature
from tests.lab import HOUR, MINUTE, NOON, SECOND
from tests.people import person
from tests.signed import Signing, a_signable_run, proof, tick

pytestmark = pytest.mark.django_db


@pytest.fixture
def signing() -> Signing:
    return a_signable_run()


def of_layer(signing: Signing, layer: Layer = Layer.PHYSICAL, **at: object) -> SignState:
    return signing.state(**at).layers[layer].state  # type: ignore[arg-type]


def test_a_signer_whose_role_ended_counts_no_more_and_the_layer_can_be_signed_again(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM)
    leaver = signing.people[Role.HARDWARE]
    end_role(user=leaver, cluster=signing.cluster, role=Role.HARDWARE, by=None, reason="moved", now=NOON)
    assert of_layer(signing) is SignState.UNSIGNED
    heir = person("heir", signing.cluster, Role.HARDWARE)
    again = [signing.sign(Role.HARDWARE, by=heir), signing.sign(Role.PLATFORM)]

    assert [one.round for one in again] == [2, 2]
    assert of_layer(signing) is SignState.SIGNED


def test_a_signer_who_was_deactivated_counts_no_more(signing: Signing) -> None:
    signing.sign(Role.LEAD, Layer.OPERATIONS)
    signing.people[Role.LEAD].is_active = False
    signing.people[Role.LEAD].save()

    assert of_layer(signing, Layer.OPERATIONS) is SignState.UNSIGNED


def test_a_revoked_signature_outdates_the_round_and_both_sign_again(signing: Signing) -> None:
    first = signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM)
    revoke_signature(signature=first, by=signing.people[Role.HARDWARE], reason="saw a photo", proof=proof(), now=NOON)
    assert of_layer(signing) is SignState.REVOKED
    signing.sign(Role.HARDWARE)
    assert of_layer(signing) is SignState.HALF
    signing.sign(Role.PLATFORM)

    assert of_layer(signing) is SignState.SIGNED


def test_a_stranger_to_the_layer_revokes_nothing_and_no_signature_is_revoked_twice(signing: Signing) -> None:
    first = signing.sign(Role.HARDWARE)
    with pytest.raises(MayNot):
        revoke_signature(signature=first, by=signing.people[Role.DATA], reason="no", proof=proof(), now=NOON)
    revoke_signature(signature=first, by=signing.people[Role.LEAD], reason="no", proof=proof(), now=NOON)
    with pytest.raises(AlreadySigned, match="taken back before"):
        revoke_signature(signature=first, by=signing.people[Role.LEAD], reason="no", proof=proof(), now=NOON)


def test_a_signature_expires_and_the_same_digest_can_be_signed_again(signing: Signing) -> None:
    signing.sign(Role.LEAD, Layer.OPERATIONS)
    first = signing.sign(Role.PLATFORM, Layer.SYSTEM)
    assert first.expires_at == NOON + timedelta(days=7)
    Run.objects.filter(pk=signing.run.pk).update(stage=Stage.SIGNOFF)
    later = NOON + timedelta(days=7, seconds=1)
    assert of_layer(signing, Layer.SYSTEM, at=later) is SignState.EXPIRED
    for name in ("gpu001", "gpu002", "gpu003"):
        signing.fleet.report(name, at=later - 2 * MINUTE, cadence="daily")
        tick(signing.fleet, name, at=later - MINUTE)
        tick(signing.fleet, name, at=later)
    again = signing.sign(Role.PLATFORM, Layer.SYSTEM, at=later)

    assert again.manifest_id == first.manifest_id
    assert (again.round, of_layer(signing, Layer.SYSTEM, at=later)) == (2, SignState.SIGNED)


def test_after_73_hours_both_sign_the_unchanged_physical_layer_again(signing: Signing) -> None:
    first = [signing.sign(Role.HARDWARE), signing.sign(Role.PLATFORM)]
    later = NOON + 73 * HOUR
    for name in ("gpu001", "gpu002", "gpu003"):
        signing.fleet.report(name, at=later - 16 * MINUTE, cadence="daily")
        for minutes in (15, 10, 5, 0):
            tick(signing.fleet, name, at=later - minutes * MINUTE)
    derive_shared_items(now=later)
    assert of_layer(signing, at=later) is SignState.EXPIRED
    again = [signing.sign(Role.HARDWARE, at=later)]
    assert of_layer(signing, at=later) is SignState.HALF
    again.append(signing.sign(Role.PLATFORM, at=later))

    assert {one.manifest_id for one in again} == {one.manifest_id for one in first}
    assert [one.round for one in again] == [2, 2]
    assert of_layer(signing, at=later) is SignState.SIGNED


def test_a_signature_never_outlives_what_was_stated_and_does_not_renew_itself(signing: Signing) -> None:
    """Stated for 21 days at 11:58; a policy without expiry would let the signature stand for ever."""
    signature = signing.sign(Role.LEAD, Layer.OPERATIONS)

    assert signature.expires_at == NOON - 2 * MINUTE + timedelta(days=21)


def test_tick_and_daily_evidence_never_shortens_a_signature(signing: Signing) -> None:
    signature = signing.sign(Role.HARDWARE)

    assert signature.expires_at == NOON + timedelta(hours=72)


def test_twenty_minutes_without_reports_leave_the_layer_signed(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM)

    assert of_layer(signing, at=NOON + 20 * MINUTE) is SignState.SIGNED
    assert not signing.view(at=NOON + 20 * MINUTE).signable


def test_pass_fail_pass_stays_outdated_and_asks_both_again(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM)
    before = signing.view().package.digest
    for minutes, temperature in ((5, 95), (10, 95), (15, 95), (20, 61), (25, 61), (30, 61), (35, 61)):
        for name in ("gpu001", "gpu002"):
            tick(signing.fleet, name, at=NOON + minutes * MINUTE,
                 changed={"gpu-pcie-width": {"width": 8 if temperature > 90 else 16}})  # fmt: skip
        tick(signing.fleet, "gpu003", at=NOON + minutes * MINUTE)
    later = NOON + 35 * MINUTE
    assert of_layer(signing, at=later) is SignState.OUTDATED
    assert signing.view(at=later).signable
    assert signing.view(at=later).package.digest != before
    signing.sign(Role.HARDWARE, at=later)
    signing.sign(Role.PLATFORM, at=later)

    assert of_layer(signing, at=later) is SignState.SIGNED


def test_another_run_spec_outdates_and_putting_it_back_lets_the_signatures_count_again(signing: Signing) -> None:
    signing.sign(Role.LEAD, Layer.OPERATIONS)
    edit_run(run=signing.run, changes={"parameters": 1}, by=signing.run.owner, reason="typo", now=NOON)
    changed = signing.state().layers[Layer.OPERATIONS]
    assert (changed.state, changed.changed and changed.changed.header) == (SignState.OUTDATED, ("run.parameters",))
    edit_run(run=signing.run, changes={"parameters": 70_000_000_000}, by=signing.run.owner, reason="back", now=NOON)

    assert of_layer(signing, Layer.OPERATIONS) is SignState.SIGNED


def test_a_changed_node_is_outdated_alone_while_enough_others_stand(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM)
    tick(signing.fleet, "gpu003", at=NOON + 5 * MINUTE, changed={"gpu-pcie-width": {"width": 8}})
    after = signing.state(at=NOON + 5 * MINUTE).layers[Layer.PHYSICAL]

    assert after.state is SignState.SIGNED
    assert after.outdated_nodes == {str(signing.fleet.node("gpu003").pk)}


def test_a_swapped_machine_is_outdated_once_somebody_confirms_its_new_serials(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM)
    node = signing.fleet.node("gpu002")
    Node.objects.filter(pk=node.pk).update(trouble="hardware_changed", unconfirmed_serials={"gpu3": "G-2"})
    confirm_node(node=node, by=signing.people[Role.LEAD], reason="new GPU", now=NOON)

    assert signing.state().layers[Layer.PHYSICAL].outdated_nodes == {str(node.pk)}


def test_roles_come_back_and_with_them_the_signature(signing: Signing) -> None:
    signing.sign(Role.LEAD, Layer.OPERATIONS)
    lead = signing.people[Role.LEAD]
    end_role(user=lead, cluster=signing.cluster, role=Role.LEAD, by=None, reason="mistake", now=NOON + SECOND)
    assert of_layer(signing, Layer.OPERATIONS, at=NOON + SECOND) is SignState.UNSIGNED
    grant_role(user=lead, cluster=signing.cluster, role=Role.LEAD, by=None, now=NOON + HOUR)

    assert of_layer(signing, Layer.OPERATIONS, at=NOON + HOUR) is SignState.SIGNED
