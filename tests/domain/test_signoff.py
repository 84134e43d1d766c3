"""Whether a layer is signed: a function of its signatures, of what there is to sign, and of the clock."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.package import Difference, Package
from checks.domain.policy import DEFAULT_POLICY
from checks.domain.signoff import LayerState, SignatureFacts, SignState, WhyNot, layer_state, next_round, restart_until
from checks.domain.verdicts import Layer
from tests.domain.building import NOON
from tests.domain.signing import A_MICROSECOND, ANNA, BO, HOUR, PHYSICAL, SIGNED, UUIDS, package, signature, state

GPU001, GPU002, GPU003 = UUIDS.values()
OTHER = package(shared="shared-2")
END = NOON + 72 * HOUR


def one_changed(*uuids: str) -> Package:
    """The package after the hash of these nodes changed."""
    return package(nodes=SIGNED.nodes | dict.fromkeys(uuids, "another"))


def test_nothing_is_unsigned() -> None:
    found = state()

    assert (found.state, found.round, found.missing_roles) == (SignState.UNSIGNED, 0, ("hardware", "platform"))
    assert next_round(found, SIGNED.digest) == 1


def test_one_of_two_is_half_and_says_who_is_missing() -> None:
    found = state(ANNA)

    assert (found.state, found.counting, found.missing_roles) == (SignState.HALF, (1,), ("platform",))
    assert next_round(found, SIGNED.digest) == 1


def test_two_people_in_the_two_roles_are_signed() -> None:
    found = state(ANNA, BO)

    assert (found.state, found.counting, found.missing_roles) == (SignState.SIGNED, (1, 2), ())
    assert found.until == END
    assert found.why_not == {}


def test_one_person_with_both_roles_fills_one_slot_only() -> None:
    anna_again = replace(BO, signer="anna")

    assert state(ANNA).missing_roles == ("platform",)
    assert state(ANNA, anna_again).state is SignState.UNSIGNED
    assert state(ANNA, anna_again).why_not == {1: WhyNot.ROUND_OVER, 2: WhyNot.SAME_PERSON}


def test_one_person_twice_in_one_role_is_one_signature() -> None:
    found = state(ANNA, replace(ANNA, id=2))

    assert (found.state, found.why_not) == (SignState.UNSIGNED, {1: WhyNot.ROUND_OVER, 2: WhyNot.SAME_ROLE})


def test_two_people_in_one_role_are_not_both_roles() -> None:
    assert not state(ANNA, replace(BO, role="hardware")).signed


def test_one_layer_that_asks_for_one_role_is_signed_by_one() -> None:
    lead = signature(1, "lead", "li", expires_at=None)
    operations = DEFAULT_POLICY.layers[Layer.OPERATIONS]

    found = layer_state([lead], SIGNED, {SIGNED.digest: SIGNED}, operations, 2, NOON + 10_000 * HOUR)

    assert (found.state, found.until) == (SignState.SIGNED, None)


@pytest.mark.parametrize("late", [False, True])
def test_a_signature_counts_to_its_end_and_no_microsecond_longer(late: bool) -> None:
    found = state(ANNA, BO, now=END + late * A_MICROSECOND)

    assert found.state is (SignState.EXPIRED if late else SignState.SIGNED)


def test_the_earlier_of_two_ends_ends_both() -> None:
    early = replace(BO, expires_at=NOON + HOUR)

    assert state(ANNA, early).until == NOON + HOUR
    found = state(ANNA, early, now=NOON + HOUR + A_MICROSECOND)
    assert (found.state, found.why_not) == (SignState.EXPIRED, {1: WhyNot.ROUND_OVER, 2: WhyNot.EXPIRED})


def test_after_73_hours_both_sign_the_unchanged_digest_again_in_a_new_round() -> None:
    later = NOON + 73 * HOUR
    assert next_round(state(ANNA, BO, now=later), SIGNED.digest) == 2

    anna, bo = (
        replace(one, id=one.id + 2, round=2, signed_at=later, expires_at=later + 72 * HOUR) for one in (ANNA, BO)
    )

    half = state(ANNA, BO, anna, now=later)
    assert (half.state, half.missing_roles, next_round(half, SIGNED.digest)) == (SignState.HALF, ("platform",), 2)
    again = state(ANNA, BO, anna, bo, now=later)
    assert (again.state, again.counting) == (SignState.SIGNED, (3, 4))
    assert again.why_not == {1: WhyNot.SUPERSEDED, 2: WhyNot.SUPERSEDED}


@pytest.mark.parametrize("revoked", [0, 1])
def test_either_signature_revoked_ends_the_round(revoked: int) -> None:
    pair = [ANNA, BO]
    pair[revoked] = replace(pair[revoked], revoked=True)

    found = state(*pair)

    assert (found.state, found.counting, found.missing_roles) == (SignState.REVOKED, (), ("hardware", "platform"))
    assert found.why_not[pair[revoked].id] is WhyNot.REVOKED
    assert found.why_not[pair[1 - revoked].id] is WhyNot.ROUND_OVER
    assert next_round(found, SIGNED.digest) == 2


LAPSED = {
    "active": (False, WhyNot.INACTIVE),
    "holds_role": (False, WhyNot.ROLE_ENDED),
    "delegation_ok": (False, WhyNot.DELEGATION_ENDED),
    "contributor": (True, WhyNot.CONTRIBUTOR),
}


@pytest.mark.parametrize("fact", LAPSED)
def test_a_signer_who_may_not_sign_any_more_ends_the_round_before_and_after_the_second(fact: str) -> None:
    value, code = LAPSED[fact]
    anna = replace(ANNA, **{fact: value})

    for signatures in ([anna], [anna, BO]):
        found = state(*signatures)
        assert (found.state, found.why_not[1]) == (SignState.UNSIGNED, code)
        assert found.missing_roles == ("hardware", "platform")
        assert next_round(found, SIGNED.digest) == 2


def test_a_contributor_counts_where_the_policy_lets_contributors_sign() -> None:
    relaxed = replace(PHYSICAL, contributors_may_sign=True)
    anna = replace(ANNA, contributor=True)

    assert layer_state([anna, BO], SIGNED, {SIGNED.digest: SIGNED}, relaxed, 2, NOON).signed


@pytest.mark.parametrize("signatures", [[ANNA], [ANNA, BO]])
def test_a_change_of_the_whole_outdates_and_says_what_changed(signatures: list[SignatureFacts]) -> None:
    found = state(*signatures, current=OTHER)

    assert (found.state, found.changed) == (SignState.OUTDATED, Difference(shared=True))
    assert set(found.why_not.values()) == {WhyNot.OUTDATED}
    assert next_round(found, OTHER.digest) == 2


def test_a_package_that_nobody_kept_is_outdated() -> None:
    assert state(ANNA, BO, signed=()).state is SignState.OUTDATED


def test_what_comes_back_as_it_was_counts_again() -> None:
    assert state(ANNA, BO, current=OTHER).state is SignState.OUTDATED
    assert state(ANNA, BO, current=package()).state is SignState.SIGNED


def test_a_changed_node_disables_itself_only_while_enough_others_are_unchanged() -> None:
    found = state(ANNA, BO, current=one_changed(GPU003))

    assert (found.state, found.outdated_nodes) == (SignState.SIGNED, {GPU003})
    assert state(ANNA, BO, current=one_changed(GPU003, GPU002)).state is SignState.OUTDATED
    assert state(ANNA, BO, current=one_changed(GPU003), needed=3).state is SignState.OUTDATED


def test_a_node_that_was_left_out_when_signed_is_not_covered() -> None:
    two = SIGNED.only([GPU001, GPU002])
    anna, bo = (replace(one, digest=two.digest) for one in (ANNA, BO))

    found = state(anna, bo, signed=[two])

    assert (found.state, found.outdated_nodes) == (SignState.SIGNED, {GPU003})


def test_nodes_that_were_left_out_do_not_make_up_for_changed_ones() -> None:
    two = SIGNED.only([GPU001, GPU002])
    anna, bo = (replace(one, digest=two.digest) for one in (ANNA, BO))

    assert state(anna, bo, signed=[two], current=one_changed(GPU002)).state is SignState.OUTDATED


def test_a_node_that_left_the_pool_counts_for_nothing() -> None:
    without = SIGNED.only([GPU001, GPU002])

    assert state(ANNA, BO, current=without).state is SignState.SIGNED
    assert state(ANNA, BO, current=without, needed=3).state is SignState.OUTDATED
    assert state(ANNA, BO, current=SIGNED.only([GPU001])).state is SignState.OUTDATED


def test_a_half_pair_holds_to_the_last_node_that_it_names() -> None:
    assert state(ANNA, current=one_changed(GPU003)).state is SignState.OUTDATED


def test_a_half_pair_over_some_nodes_is_completed_by_signing_the_very_same_digest() -> None:
    two = SIGNED.only([GPU001, GPU002])
    half = state(replace(ANNA, digest=two.digest), signed=[two])

    assert (half.state, half.digest) == (SignState.HALF, two.digest)
    assert next_round(half, two.digest) == 1
    assert next_round(half, SIGNED.digest) == 2


def test_two_digests_in_one_round_are_no_pair() -> None:
    found = state(ANNA, replace(BO, digest=OTHER.digest), signed=[SIGNED, OTHER])

    assert (found.state, found.why_not[2]) == (SignState.UNSIGNED, WhyNot.OTHER_DIGEST)


def test_a_role_that_the_policy_does_not_ask_for_counts_for_nothing() -> None:
    found = state(ANNA, signature(2, "lead", "li"))

    assert (found.state, found.why_not[2]) == (SignState.UNSIGNED, WhyNot.ROLE_NOT_ASKED)


def test_an_older_complete_round_is_no_substitute_for_a_newer_half() -> None:
    anna = replace(ANNA, id=3, round=2)

    assert state(ANNA, BO, anna).state is SignState.HALF


def test_a_revoked_round_is_called_revoked_even_when_it_is_old_and_outdated_too() -> None:
    found = state(replace(ANNA, revoked=True), BO, current=OTHER, now=END + HOUR)

    assert found.state is SignState.REVOKED


def test_a_run_may_come_back_for_a_fifth_longer_than_planned() -> None:
    assert restart_until(NOON, NOON + timedelta(days=10)) == NOON + timedelta(days=12)


MOMENTS = st.integers(0, 200).map(lambda hours: NOON + timedelta(hours=hours))
FLAGS = {name: st.booleans() for name in ("revoked", "active", "holds_role", "delegation_ok", "contributor")}
SIGNATURES = st.lists(
    st.builds(
        SignatureFacts,
        id=st.integers(1, 9),
        role=st.sampled_from(["hardware", "platform", "lead"]),
        signer=st.sampled_from(["anna", "bo", "chen"]),
        digest=st.sampled_from([SIGNED.digest, OTHER.digest]),
        round=st.integers(1, 3),
        signed_at=MOMENTS,
        expires_at=st.one_of(st.none(), MOMENTS),
        **FLAGS,
    ),
    max_size=5,
    # As the database keeps them.
    unique_by=(
        lambda one: one.id,
        lambda one: (one.digest, one.round, one.role),
        lambda one: (one.digest, one.round, one.signer),
    ),
)
PACKAGES = st.sampled_from([SIGNED, OTHER, one_changed(GPU003), one_changed(GPU002, GPU003)])


def of(signatures: Sequence[SignatureFacts], current: Package, now: datetime) -> LayerState:
    return state(*signatures, current=current, signed=[SIGNED, OTHER, current], now=now)


@given(SIGNATURES, PACKAGES, MOMENTS)
def test_signed_means_two_people_in_two_roles_on_one_digest_both_good(
    signatures: list[SignatureFacts], current: Package, now: datetime
) -> None:
    found = of(signatures, current, now)
    counting = [one for one in signatures if one.id in found.counting]

    assert {one.id for one in signatures} == set(found.counting) | set(found.why_not)
    assert len({one.signer for one in counting}) == len({one.role for one in counting}) == len(counting)
    assert len({(one.digest, one.round) for one in counting}) <= 1
    assert not any(one.revoked or one.contributor or not (one.active and one.holds_role) for one in counting)
    assert all(one.expires_at is None or now <= one.expires_at for one in counting)
    assert found.signed == ({one.role for one in counting} == {"hardware", "platform"})


@given(SIGNATURES, PACKAGES, MOMENTS)
def test_nobody_is_ever_stuck(signatures: list[SignatureFacts], current: Package, now: datetime) -> None:
    held = list(signatures)
    for number, signer in enumerate(["dora", "emil"]):
        found = of(held, current, now)
        if not found.missing_roles:
            break
        to_sign = found.digest if found.counting else current.digest
        new = SignatureFacts(
            100 + number, found.missing_roles[0], signer, to_sign, next_round(found, to_sign), now, now + HOUR
        )
        taken = {(one.digest, one.round, key) for one in held for key in (one.role, one.signer)}
        assert not {(new.digest, new.round, new.role), (new.digest, new.round, new.signer)} & taken
        held.append(new)

    assert of(held, current, now).signed
